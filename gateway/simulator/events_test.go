package simulator

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"sluice/gateway/simulator/request"
)

// event is one parsed frame.
type event struct {
	id, name, status, data string
}

func (e event) object(t *testing.T) request.Object {
	t.Helper()
	return got{body: e.data}.object(t)
}

// errFrame is a stream that is not in the service's form.
var errFrame = errors.New("malformed frame")

// readEvent reads one frame strictly: every line has its place and its prefix, and an empty line ends it.
func readEvent(r *bufio.Reader) (event, error) {
	var values []string
	for _, prefix := range []string{"id:", "event:", ":HTTP_STATUS/", "data:", ""} {
		line, err := r.ReadString('\n')
		if err == io.EOF && line == "" && prefix == "id:" {
			return event{}, io.EOF
		}
		if err != nil {
			return event{}, fmt.Errorf("%w: %q: %w", errFrame, line, err)
		}
		value, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), prefix)
		if !ok || prefix == "" && value != "" || strings.HasPrefix(value, " ") {
			return event{}, fmt.Errorf("%w: %q where %q belongs", errFrame, line, prefix)
		}
		values = append(values, value)
	}
	return event{values[0], values[1], values[2], values[3]}, nil
}

// events parses a whole stream.
func (g got) events(t *testing.T) []event {
	t.Helper()
	if g.err != nil {
		t.Fatal(g.err)
	}
	if ct := g.header.Get("Content-Type"); g.status != 200 || ct != "text/event-stream;charset=UTF-8" {
		t.Fatalf("answer is no stream: %d %s\n%s", g.status, ct, g.body)
	}
	var out []event
	r := bufio.NewReader(strings.NewReader(g.body))
	for {
		e, err := readEvent(r)
		if err == io.EOF {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, e)
	}
}
