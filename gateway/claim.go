package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"

	"sluice/cache"
	"sluice/policy"
	"sluice/policy/limit"
)

// creates reports whether a request's success is a task. What a forwarded path does nobody reads: there its client says so.
func (g *Gateway) creates(to *route, r *http.Request) bool {
	return to.creates || to.prefix && r.Method == post && enabled(r.Header[g.names.async])
}

var errNoTask = errors.New("upstream's answer to a task's creation names no task")

// claimWhole reads a creation's answer whole and claims the task before a byte of it leaves: a client that knows the
// id may ask for it in the same instant.
func (g *Gateway) claimWhole(kept *http.Response, c *call) error {
	text, err := readWhole(kept)
	if err != nil {
		return err
	}
	g.upstreamKey.Load().RedactKeys(text) // a task may have failed already
	if !g.claimAnswer(c, text, true) && !c.tellsAll() {
		return refuse(refuseAnswer).say("The service's answer to the task's creation could not be read; whether a task runs is unknown.").because(errNoTask)
	}
	return nil
}

// claimForwarded claims the task that a forwarded path's answer names, if it names one. What is longer than the answer to a
// creation is none, and passed on as it comes.
func (g *Gateway) claimForwarded(kept *http.Response, c *call) error {
	text, err := io.ReadAll(io.LimitReader(kept.Body, wholeAnswer+1))
	if err != nil {
		_ = kept.Body.Close()
		return err
	}
	if len(text) <= wholeAnswer {
		g.upstreamKey.Load().RedactKeys(text)
		g.claimAnswer(c, text, true)
	}
	kept.Body = &bounded{ReadCloser: resumed{io.MultiReader(bytes.NewReader(text), kept.Body), kept.Body}, left: longestAnswer}
	return nil
}

// resumed is a body whose beginning was read and is read again.
type resumed struct {
	io.Reader
	io.Closer
}

// claimAnswer claims the task that an answer names, and reports whether it names one. An id of a form that no path can carry
// cannot be polled, and one that another team has claimed stays that team's; the answer is all that its own will ever have of
// it. whole: nothing follows in a stream.
func (g *Gateway) claimAnswer(c *call, text []byte, whole bool) bool {
	answer := cache.ReadAnswer(text, g.config.TaskZone)
	switch {
	case answer.Task == "":
		return false
	case c.odd: // and told
	case answer.Odd || !isTaskID(answer.Task):
		g.cannotClaim(c, answer.Task, "a task was made whose id cannot stand in a path; its hold is charged when its lease ends")
	case !g.claim(c, answer, text, whole):
		g.cannotClaim(c, answer.Task, "the service named a task that another team has claimed, and that stays its; the hold is charged when its lease ends")
	}
	return true
}

// cannotClaim notes that the answer names a task that cannot be the team's, and tells the operator.
func (g *Gateway) cannotClaim(c *call, task, why string) {
	c.odd = true
	g.deps.Logger.LogAttrs(context.Background(), slog.LevelError, why,
		slog.String("id", c.ID), slog.String("team", c.Team), slog.String("task", shortID(g.upstreamKey.Load().Cover(task))))
}

// shortID is the beginning of an id of any length, for the log.
func shortID(id string) string { return id[:min(len(id), longestTaskID)] }

// claimUnseen claims the task that a stream named where no piece of it held the name: its frames were too large.
func (g *Gateway) claimUnseen(c *call) {
	read := &c.reading
	if c.claimed || c.odd || read.TaskID == "" || read.Frames == 0 || c.UpstreamStatus >= 400 || !c.mayName() {
		return
	}
	var body struct {
		Output struct {
			Task   string `json:"task_id"`
			Status string `json:"task_status,omitempty"`
		} `json:"output"`
		Request string `json:"request_id"`
	}
	body.Output.Task, body.Output.Status, body.Request = read.TaskID, read.TaskStatus, g.upstreamKey.Load().Cover(read.ResponseID)
	text, err := json.Marshal(body)
	if err == nil {
		g.claimAnswer(c, text, false)
	}
}

// claim makes the task its team's, and reports whether it is no other team's.
func (g *Gateway) claim(c *call, answer cache.Answer, body []byte, whole bool) bool {
	trace := c.clientSpan.OwnTraceparent()
	claim := cache.Claim{Team: c.Team, Key: c.Key, Task: answer.Task, Model: c.Model, Created: g.deps.Now(), Answer: answer, Body: body, Trace: trace}
	if c.held != nil {
		claim.Hold = cache.Hold{ID: c.held.ID, Endpoint: string(c.route.endpoint), Day: c.held.Day, Month: c.held.Month, Images: c.size[limit.Images], Price: c.price.Image}
	}
	end, ok := g.tasks.Put(context.Background(), claim, whole)
	if !ok {
		return false
	}
	c.Task, c.claimed, c.creation = answer.Task, true, trace
	if end != nil {
		c.Cost = end.Cost(&claim)
	}
	return true
}

// mayName reports whether the answer may name a task.
func (c *call) mayName() bool { return c.creates || c.Kind == string(policy.KindInterleaved) }

// watch looks at the pieces of a stream before they leave, and claims the task that a stream of images may carry. It is nil
// where the stream carries none.
func (g *Gateway) watch(c *call) func(piece []byte) {
	if !c.mayName() {
		return nil
	}
	claims := true
	return func(piece []byte) {
		if claims && bytes.Contains(piece, []byte(`"task_id"`)) {
			claims = !g.claimFrame(c, piece)
		}
	}
}

// claimFrame reads the events of a piece and reports whether a task was claimed.
func (g *Gateway) claimFrame(c *call, whole []byte) bool {
	for line := range bytes.Lines(whole) {
		data, ok := bytes.CutPrefix(line, []byte("data:"))
		if !ok {
			continue
		}
		if g.claimAnswer(c, bytes.Clone(bytes.TrimSpace(data)), false); c.claimed {
			return true
		}
	}
	return false
}
