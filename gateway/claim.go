package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"time"

	"sluice/cache"
	"sluice/gateway/refusal"
	"sluice/gateway/tasks"
	"sluice/gateway/upstream"
	"sluice/policy"
	"sluice/policy/forms"
	"sluice/policy/limit"
)

// claims finds the task that the answer to a creation names, and makes it the team's.
type claims struct {
	tasks  *tasks.Tasks
	live   *live
	now    func() time.Time
	zone   *time.Location
	logger *slog.Logger
}

var errNoTask = errors.New("the service's answer to a task's creation names no task")

// claimWhole reads a creation's answer whole and claims the task before a byte of it leaves: a client that knows the
// id may poll it in the same instant.
func (k *claims) claimWhole(kept *http.Response, s *requestState) error {
	text, err := readWhole(kept)
	if err != nil {
		return err
	}
	k.live.pool.Secrets().RedactKeys(text) // the task may have failed already, and its message may quote the key
	if k.claimAnswer(s, text, true) {
		return nil
	}
	if ending := s.ending(); !ending.TellsAll() {
		return refusal.New(refusal.Answer).Say("The service's answer to the task's creation could not be read; whether a task runs is unknown.").
			Because(errNoTask)
	}
	return nil
}

// claimForwarded claims the task that a forwarded path's answer names, if it names one. An answer that is too long to be the
// answer to a creation is passed on as it arrives.
func (k *claims) claimForwarded(kept *http.Response, s *requestState) error {
	text, err := io.ReadAll(io.LimitReader(kept.Body, wholeAnswer+1))
	if err != nil {
		_ = kept.Body.Close()
		return err
	}
	if len(text) <= wholeAnswer {
		k.live.pool.Secrets().RedactKeys(text)
		k.claimAnswer(s, text, true)
	}
	kept.Body = &upstream.Bounded{ReadCloser: struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(text), kept.Body), kept.Body}}
	return nil
}

// claimAnswer claims the task that an answer names, and reports whether it names one. A task that cannot be claimed is logged: a
// task whose id does not fit into a path cannot be polled, and a task of another request, of any team, stays that request's.
// whole: the answer is not a frame of a stream.
func (k *claims) claimAnswer(s *requestState, text []byte, whole bool) bool {
	answer := cache.ReadAnswer(text, k.zone)
	switch {
	case answer.Task == "":
		return false
	case s.unclaimable: // and logged
	case answer.Odd || !tasks.IsID(answer.Task):
		k.cannotClaim(s, answer.Task, "a task was made whose id cannot stand in a path; its hold is charged when its lease ends")
	case !k.claim(s, answer, text, whole):
		k.cannotClaim(s, answer.Task, "the service named a task that another request has claimed; the task stays with that request, and this "+
			"one's hold is charged when its lease ends")
	}
	return true
}

// cannotClaim notes that the answer names a task that cannot be the team's, and logs it for the operator.
func (k *claims) cannotClaim(s *requestState, task, why string) {
	s.unclaimable = true
	task = k.live.pool.Cover(task)
	k.logger.LogAttrs(context.Background(), slog.LevelError, why,
		slog.String("id", s.ID), slog.String("team", s.Team), slog.String("task", task[:min(len(task), tasks.LongestID)]))
}

// claim makes the task the team's. It reports false if another request, of any team, has claimed it.
func (k *claims) claim(s *requestState, answer cache.Answer, body []byte, whole bool) bool {
	trace := s.clientSpan.OwnTraceparent()
	claim := cache.Claim{
		Team: s.Team, Key: s.Key, Task: answer.Task, Model: s.Model, Created: k.now(), Answer: answer, Body: body,
		Trace: trace, Account: s.attempt.Name(), Callback: s.callback,
	}
	if s.held != nil {
		claim.Hold = cache.Hold{
			ID: s.held.ID, Endpoint: string(s.route.endpoint), Tag: string(s.held.Tag), Key: string(s.held.Key), Day: s.held.Day,
			Month: s.held.Month, House: s.held.In(limit.ScopeHouse), Counted: s.held.In(limit.ScopeAccount), Governed: s.route.reads.Governed(),
		}
		s.pricing.Keep(&claim.Hold, &s.size)
	}
	end, ok := k.tasks.Put(context.Background(), claim, whole)
	if !ok {
		return false
	}
	s.Task, s.claimed, s.creation = answer.Task, true, trace
	if end != nil {
		s.Cost = end.Cost(s.team.Money)
	}
	return true
}

// watch returns the function that looks for a task in the pieces of a stream before they leave; nil: the stream cannot name one.
func (k *claims) watch(s *requestState) func(piece []byte) {
	if !s.mayName() {
		return nil
	}
	return func(piece []byte) {
		if !s.claimed && bytes.Contains(piece, []byte(`"task_id"`)) {
			k.claimFrames(s, piece)
		}
	}
}

// claimFrames claims the first task that the events of a piece name.
func (k *claims) claimFrames(s *requestState, piece []byte) {
	for line := range bytes.Lines(piece) {
		data, ok := bytes.CutPrefix(line, []byte("data:"))
		if !ok {
			continue
		}
		if k.claimAnswer(s, bytes.Clone(bytes.TrimSpace(data)), false); s.claimed {
			return
		}
	}
}

// claimUnseen claims a task that the meter read in a stream and watch missed, because the event was too large for one piece.
func (k *claims) claimUnseen(s *requestState) {
	read := &s.reading
	if s.claimed || s.unclaimable || read.TaskID == "" || read.Frames == 0 || s.UpstreamStatus >= 400 || !s.mayName() {
		return
	}
	var body struct {
		Output struct {
			Task   string `json:"task_id"`
			Status string `json:"task_status,omitempty"`
		} `json:"output"`
		Request string `json:"request_id"`
	}
	body.Output.Task, body.Output.Status, body.Request = read.TaskID, read.TaskStatus, k.live.pool.Cover(read.ResponseID)
	text, err := json.Marshal(body)
	if err == nil {
		k.claimAnswer(s, text, false)
	}
}

// mayName reports whether the answer may name a task.
func (s *requestState) mayName() bool {
	return s.creates || s.Kind == string(policy.KindInterleaved) || s.route.reads == forms.Native && !nameless(s)
}
