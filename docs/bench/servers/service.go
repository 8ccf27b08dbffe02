// Package servers has the service behind all gateways, the bare proxy as their baseline, and the handler as the baseline of
// cached polls.
package servers

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"strconv"
	"time"

	"sluice/docs/bench/wire"
)

// Service is the simulated service. It answers every request immediately and with the same bytes: 1 KB of JSON, a stream, a task.
// Requests for /v1/ get OpenAI's form, all others the service's own.
func Service(listener net.Listener) error {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer func() { _ = conn.Close() }()
			in := bufio.NewReaderSize(conn, 16<<10)
			for serveOne(conn, in) == nil {
				continue
			}
		}()
	}
}

func serveOne(out io.Writer, in *bufio.Reader) error {
	head, err := wire.ReadHead(in)
	if err != nil {
		return err
	}
	form := service
	if bytes.HasPrefix(head.Path, []byte("/v1/")) {
		form = openAI
	}
	var body []byte
	if size := head.Length; size <= in.Size() && !head.Chunked {
		body, err = in.Peek(size) // valid until it is skipped
		if err != nil {
			return err
		}
	}
	streams := head.Stream || bytes.Contains(body, []byte(`"stream":true`)) || bytes.Contains(body, []byte(`"stream": true`))
	pause := pauseOf(body)
	if err := wire.SkipBody(in, head); err != nil {
		return err
	}
	switch {
	case head.Get:
		_, err = out.Write(taskEnded)
	case head.Async:
		_, err = out.Write(taskMade)
	case streams:
		err = stream(out, form, pause)
	default:
		_, err = out.Write(form.answer)
	}
	return err
}

// pauseOf reads from the model's name how long a stream pauses between frames.
func pauseOf(body []byte) time.Duration {
	_, name, found := bytes.Cut(body, []byte("llm-pause-"))
	if !found {
		return 0
	}
	digits, _, _ := bytes.Cut(name, []byte("ms"))
	milliseconds, _ := strconv.Atoi(string(digits))
	return time.Duration(milliseconds) * time.Millisecond
}

// stream writes the frames, each in its own write and chunk.
func stream(out io.Writer, form form, pause time.Duration) error {
	if _, err := out.Write(form.streamHead); err != nil {
		return err
	}
	for i, frame := range form.frames {
		if i > 0 {
			time.Sleep(pause)
		}
		if _, err := out.Write(frame); err != nil {
			return err
		}
	}
	_, err := out.Write(form.streamEnd)
	return err
}
