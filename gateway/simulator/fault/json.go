package fault

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// Parse reads a fault from JSON.
func Parse(data []byte) (*Fault, error) {
	f := new(Fault)
	if err := json.Unmarshal(data, f); err != nil {
		return nil, fmt.Errorf("simulate: %w", err)
	}
	return f, nil
}

// UnmarshalJSON reads the fault's JSON form.
func (f *Fault) UnmarshalJSON(data []byte) error {
	type plain Fault
	wire := struct {
		*plain
		Delay       *millis `json:"delay_ms"`
		HeaderDelay *millis `json:"header_delay_ms"`
		FrameDelay  *millis `json:"frame_delay_ms"`
	}{(*plain)(f), (*millis)(&f.Delay), (*millis)(&f.HeaderDelay), (*millis)(&f.FrameDelay)}
	return cmp.Or(
		strict(data, &wire),
		oneOf("cut", f.Cut, "close", "reset", "end"),
		oneOf("stall", f.Stall, "before", "headers", "body"),
		oneOf("drop", f.Drop, "close", "reset"),
	)
}

// UnmarshalJSON reads the task's JSON form.
func (t *Task) UnmarshalJSON(data []byte) error {
	type plain Task
	wire := struct {
		*plain
		Pending *millis `json:"pending_ms"`
		Running *millis `json:"running_ms"`
	}{plain: (*plain)(t)}
	err := strict(data, &wire)
	t.Pending, t.Running = (*time.Duration)(wire.Pending), (*time.Duration)(wire.Running)
	return cmp.Or(err, oneOf("outcome", t.Outcome, "succeed", "fail", "fail_pending", "partial", "suspend", "cancel", "never"))
}

// millis is a duration that is written in milliseconds.
type millis time.Duration

// UnmarshalJSON reads a whole number of milliseconds.
func (m *millis) UnmarshalJSON(data []byte) error {
	var n int64
	err := json.Unmarshal(data, &n)
	*m = millis(time.Duration(n) * time.Millisecond)
	return err
}

// strict decodes data into v, and refuses members that v does not have.
func strict(data []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	return d.Decode(v)
}

// oneOf refuses a value that is neither empty nor among the words.
func oneOf(name, value string, words ...string) error {
	if value == "" || slices.Contains(words, value) {
		return nil
	}
	return fmt.Errorf("%s is %q and must be one of %q", name, value, words)
}
