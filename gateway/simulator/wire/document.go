package wire

import (
	"bytes"
	"cmp"
	"net/http"
	"strconv"
	"strings"

	"sluice/gateway/simulator/answer"
	"sluice/gateway/simulator/fault"
)

// sendDocument sends an answer that is not a stream.
func (x *Exchange) sendDocument(a answer.Answer) {
	f, body := x.Fault, x.render(a)
	x.W.Header().Set("Content-Type", cmp.Or(a.ContentType, "application/json"))
	if f.Cut != "end" && !f.Endless && !f.Gzip {
		x.W.Header().Set("Content-Length", strconv.Itoa(len(body)))
	}
	if !x.start(http.StatusOK) {
		return
	}
	if f.Cut != "" || f.Stall == "body" {
		half := 0
		if f.After > 0 {
			half = len(body) / 2
		}
		x.W.Write(body[:half])
		flush(x.W)
		body = body[half:]
	}
	if f.Stall == "body" && x.Stalls.Wait(x.Ctx) != nil {
		return
	}
	if f.Cut != "" {
		cutOff(x.W, f.Cut)
		return
	}
	x.W.Write(body)
	if f.Endless {
		blanks(x.Ctx, x.W)
	}
}

// render returns the bytes of a document.
func (x *Exchange) render(a answer.Answer) []byte {
	switch {
	case x.Fault.Body != nil:
		return []byte(*x.Fault.Body)
	case a.Doc == nil:
		return a.Raw
	}
	if r, ok := a.Doc.(*answer.Reply); ok {
		spoil(x.Fault, r, 0)
	}
	return marshal(a.Doc)
}

// spoil applies the faults that change the reply of the i-th frame.
func spoil(f *fault.Fault, r *answer.Reply, i int) {
	r.Padding = strings.Repeat("x", max(f.PadBytes, 0))
	switch {
	case f.NoUsage:
		r.Usage = nil
	case len(f.Usage) > 0:
		r.Usage = f.Usage[min(i, len(f.Usage)-1)]
	}
}

// marshal returns v as JSON, without a newline.
func marshal(v any) []byte {
	var buf bytes.Buffer
	answer.Encode(&buf, v)
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n"))
}
