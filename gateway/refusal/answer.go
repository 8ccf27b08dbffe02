package refusal

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"sluice/gateway/conversation"
)

// ErrOurKey is the cause of a refusal because the service refused the key of its account.
var ErrOurKey = errors.New("the service refused the gateway's own key")

var (
	errUpgraded   = errors.New("the service switched protocols")
	errRedirected = errors.New("the service answered with a redirect")
	errEncoded    = errors.New("the service sent a compressed answer without being asked")
)

// OfAnswer refuses an answer of the service that no team may get; nil: it may be used. wait is how long a refused key should not be used;
// 0: unknown.
func OfAnswer(answer *http.Response, wait time.Duration) error {
	broken := func(err error) error {
		return New(Answer).Say("The service's answer could not be used.").Because(err)
	}
	switch {
	case answer.StatusCode == http.StatusSwitchingProtocols:
		return broken(errUpgraded)
	case answer.StatusCode >= 300 && answer.StatusCode < 400:
		return broken(errRedirected) // following it would send the key to another host
	case answer.StatusCode == http.StatusUnauthorized:
		return ourKey().Retry(wait)
	case slices.ContainsFunc(answer.Header["Content-Encoding"], func(e string) bool { return e != "" && !strings.EqualFold(e, "identity") }):
		return broken(errEncoded)
	}
	return nil
}

func ourKey() *Refusal {
	return New(OurKey).Say("The service refused the gateway's key; its operators have been alerted.").Because(ErrOurKey)
}

// Inside refuses for an error in place of a success, or inside it, and changes the error accordingly; nil: it is the service's, about the
// request. cover covers what must not reach a client.
func Inside(r *conversation.Refusal, cover func(text string) string) *Refusal {
	switch {
	case !r.Told:
		return New(Answer).Say("%s", r.Message)
	case r.Status == http.StatusUnauthorized:
		refused := ourKey()
		r.Status, r.Code, r.Message = refused.Status, refused.Code, refused.Message
		return refused
	}
	r.Code, r.Message = cover(r.Code), cover(r.Message)
	return nil
}

// IsBroken reports whether a refusal is for the content of the request, and not for its team or its time.
func IsBroken(name string) bool {
	switch name {
	case Large.Name, Media.Name, Slow.Name, Body.Name, Rules.Name:
		return true
	}
	return false
}

// Failed refuses after a fault of the gateway.
func Failed() *Refusal {
	return New(Panic).Say("The gateway failed; its operators can find the cause by the request id.")
}

// Lost refuses an answer that broke off. fault is the name of the request's refusal, or of the exchange's; empty: there is none.
func Lost(fault string) *Refusal {
	switch fault {
	case Silent.Name:
		return New(Silent).Say("The service fell silent inside its answer.")
	case Panic.Name:
		return Failed()
	}
	return New(Answer).Say("The service's answer broke off.")
}
