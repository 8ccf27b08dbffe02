package gateway

import (
	"context"
	"errors"
	"io"
	"time"
)

// answerBody is an answer's body on its way to a client: read with a bound on silence, and drained when the client is
// gone, because the usage stands at the end and is owed either way.
type answerBody struct {
	io.ReadCloser
	exchange *exchange
	call     *call
	timer    *time.Timer
	ended    bool // EOF or an error was read
}

const (
	drainBytes = 8 << 20
	drainTime  = 30 * time.Second
)

func (b *answerBody) Read(p []byte) (int, error) {
	g := b.exchange.gateway
	b.arm(g.IdleTimeout)
	before := g.Now()
	n, err := b.ReadCloser.Read(p)
	b.call.waited += g.Now().Sub(before)
	if err != nil {
		b.ended = true
		b.timer.Stop()
		err = b.explain(err)
	}
	return n, err
}

func (b *answerBody) arm(bound time.Duration) {
	if b.timer == nil {
		b.timer = time.AfterFunc(bound, func() { b.exchange.cancel(errSilence) })
		return
	}
	b.timer.Reset(bound)
}

func (b *answerBody) explain(err error) error {
	if err == io.EOF {
		return err
	}
	row := refuseAnswer
	if errors.Is(context.Cause(b.exchange.ctx), errSilence) {
		row, err = refuseSilent, errSilence
	}
	b.call.Refusal = row.name // for the log, where the header has left already
	return refuse(row).because(err)
}

// abandon frees the connection of an answer that is not wanted.
func (b *answerBody) abandon() {
	b.exchange.stop()
	b.ended = true
	_ = b.Close() // it was cut on purpose
}

// Close drains what is left, within bounds, and frees the connection.
func (b *answerBody) Close() error {
	if !b.ended {
		b.drain()
	}
	if b.timer != nil {
		b.timer.Stop()
	}
	err := b.ReadCloser.Close()
	b.exchange.stop()
	return err
}

func (b *answerBody) drain() {
	stop := time.AfterFunc(drainTime, b.exchange.stop)
	defer stop.Stop()
	_, _ = io.CopyN(io.Discard, b, drainBytes)
}
