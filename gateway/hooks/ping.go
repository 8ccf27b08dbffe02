package hooks

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"

	"sluice/policy/event"
	"sluice/policy/teams"
)

// Of lists the hooks of a team, or of [event.Operators]; with an id only the hook with it. The error says which hooks there are.
func Of(file *teams.File, owner, id string) ([]event.Hook, error) {
	list := file.Hooks
	if owner != event.Operators {
		team := file.Team(owner)
		if team == nil {
			return nil, fmt.Errorf("--team: no team has this id; allowed: one of the teams file or the directory, or %s", event.Operators)
		}
		list = team.Hooks
	}
	if len(list) == 0 {
		return nil, errors.New("--team: it has no hooks")
	}
	if id == "" {
		return list, nil
	}
	ids := make([]string, len(list))
	for i := range list {
		if ids[i] = list[i].ID; ids[i] == id {
			return list[i : i+1], nil
		}
	}
	return nil, fmt.Errorf("--id: no hook of it has this id; allowed: %s", strings.Join(ids, ", "))
}

// Test posts a ping to hooks, one after the other, and writes what came back. Its error says how many did not take it.
func Test(ctx context.Context, w io.Writer, p *Poster, owner string, list []event.Hook, now time.Time) error {
	failed := 0
	for i := range list {
		ping := event.Event{
			ID:   event.ID{Owner: owner, Millis: now.UnixMilli(), Number: uint16(rand.Uint32())},
			Type: event.Ping, Time: now, Team: owner, Data: []byte("{}"),
		}
		answer, err := p.Post(ctx, &list[i], &ping, "")
		came := answered(&answer)
		if err != nil {
			came = "no answer: " + err.Error()
		}
		if err != nil || answer.Code < 200 || answer.Code > 299 {
			failed++
		}
		if _, err := fmt.Fprintf(w, "%s: %s\n", list[i].ID, came); err != nil {
			return err
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d hooks did not take the ping", failed, len(list))
	}
	return nil
}

// answered is an answer in one line: its status, and the printable characters at the beginning of its text.
func answered(a *Answer) string {
	text := strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == '\ufffd' || r >= 0x80 && r < 0xa0 {
			return ' '
		}
		return r
	}, string(a.Text))
	words := strings.Fields(text)
	text = strings.Join(words, " ")
	if runes := []rune(text); len(runes) > mostShown {
		text = string(slices.Concat(runes[:mostShown], []rune("…")))
	}
	status := fmt.Sprintf("%d %s", a.Code, http.StatusText(a.Code))
	if text == "" {
		return strings.TrimSpace(status)
	}
	return strings.TrimSpace(status) + ": " + text
}

// mostShown is how many characters of an answer a line shows.
const mostShown = 200

// Owners returns the owners whose events an owner sees: operators also see those of the house and of the accounts at the service.
func Owners(owner string, accounts *teams.Accounts) []string {
	owners := []string{owner}
	if owner == event.Operators {
		owners = append(owners, teams.HouseID)
		for _, a := range accounts.List {
			owners = append(owners, teams.AccountQuotasID(a.ID))
		}
	}
	return owners
}

// Again delivers an event of one of the owners again, to the hooks that it was for, and says so on w. The error is [event.ErrID] for a text
// that is no id of such an event, and [event.ErrGone] for an event that is no longer kept. A nil outbox has no events.
func Again(ctx context.Context, w io.Writer, outbox event.Outbox, owners []string, text string) error {
	id, err := event.ID{}, event.ErrID
	for _, owner := range owners {
		if id, err = event.ParseID(text, owner); err == nil {
			break
		}
	}
	switch {
	case err != nil:
		return err
	case outbox == nil:
		return errors.New("there is no outbox that replicas share: SLUICE_REDIS_URL is not set")
	}
	if err := outbox.Again(ctx, id); err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s is delivered again\n", id)
	return err
}
