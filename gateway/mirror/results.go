package mirror

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"sluice/gateway/mirror/store"
)

// signedFor is how long a signed address of a picture is valid.
const signedFor = 10 * time.Minute

// Results answer with stored pictures. They are safe for concurrent use.
type Results struct {
	Store store.Store
	Proxy bool // the bytes pass through this process; else an address of the store is signed
}

// Serve answers with a picture of a team's task, counted from 1. Its error is [store.ErrAbsent] if none is kept. With any error
// nothing is written.
func (s *Results) Serve(w http.ResponseWriter, r *http.Request, team, task string, n int) error {
	key, err := s.find(r.Context(), team, task, n)
	if err != nil {
		return err
	}
	h := w.Header()
	if s.Proxy {
		return s.send(w, r, key)
	}
	address, err := s.Store.Sign(r.Context(), key, signedFor)
	if err != nil {
		return err
	}
	h.Set("Location", address)
	h.Set("Referrer-Policy", "no-referrer")
	w.WriteHeader(http.StatusFound)
	return nil
}

// find returns a picture's key.
func (s *Results) find(ctx context.Context, team, task string, n int) (string, error) {
	at, err := s.dayOf(ctx, team, task)
	if err != nil {
		return "", err
	}
	list, err := s.Store.List(ctx, fmt.Sprintf("%s%d.", below(team, at, task), n), "", 1)
	if err == nil && len(list) == 0 {
		err = store.ErrAbsent
	}
	if err != nil {
		return "", err
	}
	return list[0], nil
}

// dayOf is the day below which a task's pictures are.
func (s *Results) dayOf(ctx context.Context, team, task string) (string, error) {
	kept, err := s.Store.Get(ctx, dayKey(team, task))
	if err != nil {
		return "", err
	}
	defer func() { _ = kept.Close() }()
	text, err := io.ReadAll(io.LimitReader(kept, 64))
	if err == nil && !day.Match(text) {
		err = errors.New("the store's object about a task is not as it was written")
	}
	return string(text), err
}

// send sends a picture, or the ranges of it that are asked for. Nothing that a browser runs is sent as such.
func (s *Results) send(w http.ResponseWriter, r *http.Request, key string) error {
	kept, err := s.Store.Get(r.Context(), key)
	if err != nil {
		return err
	}
	defer func() { _ = kept.Close() }()
	h := w.Header()
	h.Set("Content-Type", kept.Type)
	if endings[kept.Type] == "" {
		h.Set("Content-Type", "application/octet-stream")
		h.Set("Content-Disposition", "attachment")
	}
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	if kept.SHA256 != "" {
		h.Set("ETag", `"`+kept.SHA256+`"`)
	}
	http.ServeContent(w, r, "", kept.Modified, kept)
	return nil
}
