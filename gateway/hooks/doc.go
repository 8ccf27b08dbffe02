// Package hooks delivers events to hooks: the addresses that teams and operators name. It takes due events out of an outbox, posts them,
// signed as Standard Webhooks says, and reports each outcome to the outbox, which decides whether there is another try.
//
// It does not decide which events there are and to whom they go: package teams does. A receiver gets each event at least once,
// with one id and the same bytes at each try; order is not promised. Addresses are untrusted: only public ones, and those that the
// operator allows, are connected to.
package hooks
