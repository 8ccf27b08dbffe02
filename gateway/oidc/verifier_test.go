package oidc_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"sluice/gateway/oidc"
	"sluice/policy/teams"
)

func TestATokenNamesItsTeam(t *testing.T) {
	verify(t, func(t *testing.T, w *workloads) {
		first := w.takes(t, "a token", w.token(nil))
		if first.Team != "search" || !strings.HasPrefix(first.Key, "jwt:") || len(first.Key) != 16 {
			t.Fatalf("%+v", first)
		}
		if again := w.takes(t, "another", w.token(claims{"aud": "sluice"})); again != first {
			t.Errorf("another token of the same subject is %+v, want %+v", again, first)
		}
		if w.Called != 2 {
			t.Errorf("%d calls of the issuer, want its configuration and its keys", w.Called)
		}
	})
}

// TestARememberedTokenEnds at its own end, and not when it would be verified again.
func TestARememberedTokenEnds(t *testing.T) {
	verify(t, func(t *testing.T, w *workloads) {
		token := w.token(claims{"exp": time.Now().Add(time.Minute).Unix()})
		for range 2 {
			w.takes(t, "before its end", token)
			time.Sleep(59 * time.Second / 2)
		}
		time.Sleep(2 * time.Second)
		if named, err := w.Identify(t.Context(), token); !errors.Is(err, oidc.ErrExpired) {
			t.Errorf("after its end: %+v, %v", named, err)
		}
	})
}

// TestOtherIssuersCountAtOnce for tokens that were verified, and the keys need not be fetched again.
func TestOtherIssuersCountAtOnce(t *testing.T) {
	verify(t, func(t *testing.T, w *workloads) {
		token := w.token(nil)
		w.takes(t, "at first", token)
		changed := *w.list[0]
		changed.Teams = map[string]string{"system:serviceaccount:search:indexer": "maps"}
		w.Follow([]*teams.Issuer{&changed})
		if named := w.takes(t, "then", token); named.Team != "maps" || w.Called != 2 {
			t.Errorf("%+v after %d calls of the issuer, want team maps after 2", named, w.Called)
		}
		w.Follow(nil)
		if named, err := w.Identify(t.Context(), token); err == nil {
			t.Errorf("without issuers: %+v", named)
		}
	})
}

// TestAnIssuerOfTwoAudiences has its teams apart.
func TestAnIssuerOfTwoAudiences(t *testing.T) {
	verify(t, func(t *testing.T, w *workloads) {
		second := *w.list[0]
		second.Audience, second.Claim, second.Teams = "sluice-maps", "group", map[string]string{"m": "maps"}
		w.Follow([]*teams.Issuer{w.list[0], &second})
		for about, tt := range map[string]struct {
			changes claims
			want    string
		}{
			"first":                             {nil, "search"},
			"second":                            {claims{"aud": "sluice-maps", "group": "m"}, "maps"},
			"both, with a claim of the second":  {claims{"aud": []string{"sluice", "sluice-maps"}, "sub": "x", "group": "m"}, "maps"},
			"first, with a claim of the second": {claims{"sub": "x", "group": "m"}, ""},
		} {
			named, err := w.Identify(t.Context(), w.token(tt.changes))
			if named.Team != tt.want || (err == nil) != (tt.want != "") {
				t.Errorf("%s: %+v, %v", about, named, err)
			}
		}
	})
}
