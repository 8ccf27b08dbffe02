package upstream

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// Secrets are what must not reach a client, the log or a span: the keys of all accounts at the service, and its addresses.
type Secrets struct {
	now, before hidden
	keys        []needle // no answer may contain them
	needles     []needle // the keys and the addresses: no error may contain them
}

// hidden are the texts of secrets.
type hidden struct{ keys, hosts []string }

// NewSecrets takes the keys and the addresses of all accounts, and the secrets that the new ones replace; nil: none. Answers to
// requests with a key that was replaced may still arrive, so what was there before the last changes is covered, too.
func NewSecrets(keys []Secret, bases []*url.URL, before *Secrets) *Secrets {
	s := new(Secrets)
	for _, key := range keys {
		s.now.keys = add(s.now.keys, key.Reveal())
	}
	for _, base := range bases {
		s.now.hosts = add(s.now.hosts, base.Host, base.Hostname())
	}
	if before != nil {
		s.before = before.now.and(before.before).without(s.now)
	}
	s.keys = needlesOf(slices.Concat(s.now.keys, s.before.keys)...)
	s.needles = append(s.keys[:len(s.keys):len(s.keys)], needlesOf(slices.Concat(s.now.hosts, s.before.hosts)...)...)
	return s
}

func add(list []string, texts ...string) []string {
	for _, text := range texts {
		if !slices.Contains(list, text) {
			list = append(list, text)
		}
	}
	return list
}

// mostReplaced bounds the keys, and the addresses, that were replaced and are covered: the latest.
const mostReplaced = 64

// and is these texts and, behind them, those of before, the oldest left out if there are too many.
func (h hidden) and(before hidden) (all hidden) {
	all.keys, all.hosts = add(slices.Clone(h.keys), before.keys...), add(slices.Clone(h.hosts), before.hosts...)
	all.keys, all.hosts = all.keys[:min(len(all.keys), mostReplaced)], all.hosts[:min(len(all.hosts), mostReplaced)]
	return all
}

func (h hidden) without(other hidden) (rest hidden) {
	rest.keys = slices.DeleteFunc(slices.Clone(h.keys), func(key string) bool { return slices.Contains(other.keys, key) })
	rest.hosts = slices.DeleteFunc(slices.Clone(h.hosts), func(host string) bool { return slices.Contains(other.hosts, host) })
	return rest
}

// Redact covers the keys and the addresses in an error text, in place. The length stays the same.
func (s *Secrets) Redact(text []byte) {
	for i := range s.needles {
		s.needles[i].cover(text)
	}
}

// RedactKeys covers only the keys: a success may name an address.
func (s *Secrets) RedactKeys(text []byte) {
	for i := range s.keys {
		s.keys[i].cover(text)
	}
}

// begins returns the length of text without an end that following bytes may complete to a needle.
func (s *Secrets) begins(text []byte) int {
	end := len(text)
	for i := range s.needles {
		end = min(end, s.needles[i].begins(text))
	}
	return end
}

// Cover is Redact for a string that is most likely clean.
func (s *Secrets) Cover(text string) string { return covered(text, s.needles) }

// CoverHeader redacts the named headers. In Content-Type it covers only the keys: the answer is read by its type, and the
// service's host may be named like a part of one.
func (s *Secrets) CoverHeader(h http.Header, names []string) {
	for _, name := range names {
		if values := h[name]; len(values) > 0 && name == "Content-Type" {
			values[0] = covered(values[0], s.keys)
		} else if len(values) > 0 {
			values[0] = s.Cover(values[0])
		}
	}
}

func covered(text string, needles []needle) string {
	for i := range needles {
		if n := &needles[i]; strings.Contains(text, n.plain) || strings.Contains(text, escape) || n.special && strings.Contains(text, `\`) {
			copied := []byte(text)
			for j := range needles {
				needles[j].cover(copied)
			}
			return string(copied)
		}
	}
	return text
}
