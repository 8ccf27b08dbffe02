package notices

import (
	"context"
	"time"

	"sluice/policy/account"
	"sluice/policy/event"
)

// outData is the data of the event [event.AccountOut].
type outData struct {
	Account string `json:"account"`
	Reason  string `json:"reason"` // what the service answered, in the words of the log
	Since   string `json:"since"`
}

// backData is the data of the event [event.AccountBack].
type backData struct {
	Account string `json:"account"`
}

// accounts announces which accounts at the service are out, and which are back. A replica that learns of an outage later than another knows
// the same outage. One whose last request worked before the outage knows nothing about its end.
func (w *Watch) accounts(ctx context.Context) {
	for _, s := range w.Standings() {
		name := "account:" + s.ID
		out := w.draft(event.Operators, event.AccountOut, outData{s.ID, s.Why, moment(s.Since)})
		back := w.draft(event.Operators, event.AccountBack, backData{s.ID})
		switch {
		case out == nil && back == nil:
		case s.State == account.Out:
			w.turned(ctx, name, true, s.Since, out, event.Operators)
		case !s.Worked.IsZero():
			w.turned(ctx, name, false, s.Worked, back, event.Operators)
		}
	}
}

// faultyData is the data of the event [event.TeamsFaulty].
type faultyData struct {
	Source string `json:"source"`
	Fault  string `json:"fault"`
}

// mostFault is how many bytes of a fault an event has.
const mostFault = 2000

// faults announces that the files or the directory are faulty, until they are whole again.
func (w *Watch) faults(ctx context.Context) {
	for _, f := range w.Faults() {
		name, on := "faulty:"+f.Source, f.Text != ""
		text := f.Text
		if len(text) > mostFault {
			text = text[:mostFault] + "…"
		}
		if d := w.draft(event.Operators, event.TeamsFaulty, faultyData{f.Source, text}); d != nil {
			since := w.since(event.Operators, name, on)
			if !on {
				d = nil
			}
			w.turned(ctx, name, on, since, d, event.Operators)
		}
	}
}

func moment(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }
