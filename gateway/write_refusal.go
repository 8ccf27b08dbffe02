package gateway

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// writeRefusal writes every answer of Sluice's own: an error body in the service's form, with the request id that clients
// quote to support.
func writeRefusal(w *reply, s *requestState, r *refusal) {
	s.Refusal = r.name
	if w.front != nil {
		w.front.Blame(r.field)
	}
	w.closes = w.closes || r.closes
	h := w.Header()
	terms, left := h["Ratelimit-Policy"], h["Ratelimit"]
	clear(h) // a stage or the proxy had prepared another answer
	if r.keeps && terms != nil {
		h["Ratelimit-Policy"], h["Ratelimit"] = terms, left
	}
	h.Set("Content-Type", "application/json")
	h.Set("Sluice-Refusal", r.name)
	if r.header != "" {
		h.Set(r.header, r.value)
	}
	if r.status == http.StatusUnauthorized {
		h.Set("Www-Authenticate", `Bearer realm="sluice"`)
	}
	if r.status == http.StatusServiceUnavailable || r.status == http.StatusTooManyRequests {
		h.Set("Retry-After", strconv.Itoa(retryAfter(r.after, rand.Float64())))
	}
	body := errorBody(r.code, r.message, s.ID)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(r.status)
	_, _ = w.Write(body) // the Record notes that the client left
}

// errorBody writes {"code":…,"message":…,"request_id":…}, in this order because some clients match the beginning.
func errorBody(code, message, id string) []byte {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(struct {
		Code      string `json:"code"`
		Message   string `json:"message"`
		RequestID string `json:"request_id"`
	}{code, message, id}) // strings always encode
	return []byte(strings.TrimSuffix(b.String(), "\n"))
}

// retryAfter is the value of Retry-After: never earlier than after, and spread over a further 20 % (at least 1 s, at most
// 60 s), so that clients do not all come back at once. luck is in [0,1).
func retryAfter(after time.Duration, luck float64) int {
	spread := min(max(after/5, time.Second), time.Minute)
	return int(math.Ceil((after + time.Duration(luck*float64(spread))).Seconds()))
}
