// Package hooks delivers events to hooks: the addresses that teams and operators name. It takes what is due out of an outbox, posts it,
// signed as Standard Webhooks say, and reports the outcome to the outbox, so that it is tried again or not.
//
// It decides nothing about which events there are and to whom they go: package teams says that. A receiver gets each event at least once,
// with one id and the same bytes at each try; order is not promised. Addresses are untrusted: only public ones, and those that the
// operator allows, are connected to.
package hooks
