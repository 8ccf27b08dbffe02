package gateway

import (
	"net/http"
	"net/http/httptest"
	"reflect"
	"testing"
	"time"

	"sluice/gateway/upstream"
)

// used is the memory of a request that filled every field.
func used(g *Gateway) *requestMemory {
	c := new(requestMemory)
	s, w := c.begin(g, httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/", nil))
	s.ID, s.Team, s.body = "id", "team", []byte("body")
	s.values.One("value")
	s.exchange.Client, s.exchange.Listener = s.client, s
	c.room.body.ReadCloser, c.room.judged.Model = http.NoBody, "model"
	w.ended, w.wrote = true, true
	return c
}

// A request's facts are gone when its memory is given back, except for memory without content.
func TestCallKeepsNothingOfARequest(t *testing.T) {
	g := &Gateway{deps: Deps{Now: time.Now}, forward: new(forward)}
	c := used(g)
	c.end()
	if !reflect.ValueOf(&c.state).Elem().IsZero() || !reflect.ValueOf(&c.reply).Elem().IsZero() {
		t.Errorf("left of the state: %+v\nof the reply: %+v", &c.state, &c.reply)
	}
	if x := &c.exchange; x.Client != nil || x.Listener != nil {
		t.Errorf("left of the exchange: %+v", x)
	}
	if !reflect.DeepEqual(c.room, room{}) {
		t.Errorf("left of the room: %+v", &c.room)
	}
}

// The memory of a request to which something may still refer is not used again.
func TestCallIsLeftToTheCollector(t *testing.T) {
	g := &Gateway{deps: Deps{Now: time.Now}, forward: new(forward)}
	for about, change := range map[string]func(*requestMemory){
		"a panic":            func(c *requestMemory) { c.reply.ended = false },
		"a client that left": func(c *requestMemory) { c.reply.failed = http.ErrHandlerTimeout },
		"a refusal":          func(c *requestMemory) { c.state.Refusal = "inspect/body" },
		"a broken answer":    func(c *requestMemory) { c.state.fault = "forward/answer" },
		"a creation":         func(c *requestMemory) { c.state.creates = true },
		"a large body":       func(c *requestMemory) { c.state.BytesIn = upstream.InlineBody + 1 },
	} {
		c := used(g)
		change(c)
		if c.end(); c.state.ID == "" {
			t.Errorf("the memory is used again after %s", about)
		}
	}
}
