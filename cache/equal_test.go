package cache_test

import (
	"testing"

	"sluice/cache"
)

// Requests that are equal each run once, and the newest that is not forgotten is found, by any replica.
func TestEqualRequests(t *testing.T) {
	forms(t, func(t *testing.T, replica func() claims) {
		ctx, one, other := t.Context(), replica(), replica()
		all := cache.IdempotencyName{Team: "search", Digest: "d"}
		newest := func() cache.IdempotencyName {
			t.Helper()
			name, found, err := other.Newest(ctx, all)
			if err != nil || found != (name.Digest != "") {
				t.Fatalf("%v, %v, %v", name, found, err)
			}
			return name
		}
		if name := newest(); name.Digest != "" {
			t.Errorf("%v is found before there is any", name)
		}
		var names []cache.IdempotencyName
		var begun []cache.Outcome
		for i := range 3 {
			name, was, err := one.BeginNew(ctx, all, [32]byte{byte(i)})
			if err != nil || was.Token == "" || was.Status != 0 {
				t.Fatalf("%+v, %v", was, err)
			}
			if names, begun = append(names, name), append(begun, was); newest() != name {
				t.Errorf("the newest is %v, want %v", newest(), name)
			}
			if known, first, err := other.Begin(ctx, name, [32]byte{byte(i)}); err != nil || first || known.Status != 0 || known.Body != [32]byte{byte(i)} {
				t.Errorf("%+v, %v, %v", known, first, err)
			}
		}
		one.End(ctx, names[1], begun[1].Body, cache.Outcome{Body: begun[1].Body, Token: begun[1].Token, Status: 200, Answer: []byte("x")})
		other.End(ctx, names[2], begun[2].Body, cache.Outcome{Token: "another's"}) // forgets nothing
		if newest() != names[2] {
			t.Errorf("the newest is %v", newest())
		}
		one.End(ctx, names[2], begun[2].Body, cache.Outcome{Token: begun[2].Token})
		if newest() != names[1] {
			t.Errorf("the newest is %v, want the one before it", newest())
		}
		if was, first, err := other.Begin(ctx, names[1], begun[1].Body); err != nil || first || was.Status != 200 || string(was.Answer) != "x" {
			t.Errorf("%+v, %v, %v", was, first, err)
		}
		if name, found, err := other.Newest(ctx, cache.IdempotencyName{Team: "shop", Digest: "d"}); found || err != nil {
			t.Errorf("another team finds %v, %v", name, err)
		}
	})
}
