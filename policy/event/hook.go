package event

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Kind is the form in which a hook gets events.
type Kind string

// The kinds of hooks.
const (
	Standard Kind = ""      // the event itself, signed as Standard Webhooks say
	Slack    Kind = "slack" // a sentence for people
)

// Hook is an address that events are delivered to, as its owner wrote it.
type Hook struct {
	ID string // in logs and metrics; unique among its owner's hooks
	// URL is absolute, without user and fragment. It may be as secret as a key, as chats have no other secret, and is never shown.
	URL string
	// Events select what it gets. Nil: only what callbacks of requests send.
	Events []Pattern
	// Secrets are the paths of one or two files with the secrets that sign its deliveries. A Slack hook has none.
	Secrets  []string
	Insecure bool // http is allowed
	Kind     Kind
}

// Wants reports whether a hook gets events of a type.
func (h *Hook) Wants(t Type) bool {
	return slices.ContainsFunc(h.Events, func(p Pattern) bool { return p.Matches(t) })
}

// Routes returns the targets of an event of an owner: by its type, and by the callback of its request, as
// [ReadCallback] returned it, or empty. Nil: the event is not written; empty: it is written only for streams.
type Routes func(owner string, t Type, callback string) []Target

// Wanting appends a target for each hook of an owner that gets events of a type.
func Wanting(to []Target, owner string, hooks []Hook, t Type) []Target {
	for i := range hooks {
		if hooks[i].Wants(t) {
			to = append(to, Target{Address: Address{owner, hooks[i].ID}})
		}
	}
	return to
}

// maxSecrets is the most secrets of a hook: the second is for the time in which one is replaced.
const maxSecrets = 2

// Misfit says which members of a hook do not fit together, and what is allowed; empty: all fit. It does not judge
// members that could not be read.
func (h *Hook) Misfit() (given, allowed string) {
	switch n := len(h.Secrets); {
	case h.Kind == Slack && n > 0:
		return "a secret for a hook of kind slack", "none: its address is the secret"
	case h.Kind != Slack && (n == 0 || n > maxSecrets):
		return strconv.Itoa(n) + " secrets", "secret_file, or secrets with one or two files"
	}
	return "", ""
}

// Types are the types of the events that are kept.
var Types = []Type{
	TaskSucceeded, TaskFailed, TaskCancelled, TaskUnheard, TaskStored, QuotaReached, RequestSettled, RateStarved, KeyExpiring,
	AccountOut, AccountBack, TeamsFaulty,
}

// IsPattern reports whether a pattern selects any type.
func IsPattern(text string) bool { return slices.ContainsFunc(Types, Pattern(text).Matches) }

// longest is the most bytes of an address.
const longest = 2 << 10

// IsHookURL reports whether a text is an address for a hook: https, or http on this machine or where insecure allows it.
func IsHookURL(text string, insecure bool) bool {
	u, err := url.Parse(text)
	if err != nil || len(text) > longest || u.Hostname() == "" || strings.ContainsFunc(u.Host, strange) {
		return false
	}
	if u.User != nil || u.Opaque != "" || u.Fragment != "" {
		return false
	}
	return u.Scheme == "https" || u.Scheme == "http" && (insecure || IsThisMachine(u.Hostname()))
}

// strange reports whether r cannot be in a host's name, address or port. Letters outside ASCII would be rewritten
// before the name is looked up.
func strange(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune(".-_:[]", r)
}

// IsThisMachine reports whether a host is localhost or an address of this machine.
func IsThisMachine(host string) bool {
	address, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && address.IsLoopback()
}

// Mark changes with every change of a hook's members, and reveals nothing of them.
func (h *Hook) Mark() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%#v", *h))
	return hex.EncodeToString(sum[:8])
}

// At is the address of a delivery: the hook's URL, with a target's path and query below it.
func (h *Hook) At(path string) string {
	if path == "" {
		return h.URL
	}
	base, query, _ := strings.Cut(h.URL, "?")
	below, more, _ := strings.Cut(path, "?")
	if below != "" {
		base = strings.TrimSuffix(base, "/") + "/" + below
	}
	if query != "" && more != "" {
		query += "&"
	}
	if query += more; query != "" {
		base += "?" + query
	}
	return base
}

// Blank is the JSON of a list of hooks, or of "none", without the URLs, which may be secrets: each is replaced by the beginning of its
// SHA-256, such as "sha256:0123456789ab", so that a change of it is visible.
func Blank(hooks json.RawMessage) json.RawMessage {
	var none string
	if json.Unmarshal(hooks, &none) == nil {
		return hooks
	}
	var list []map[string]json.RawMessage
	if json.Unmarshal(hooks, &list) != nil {
		return digestOf(hooks) // not a list of hooks
	}
	for _, h := range list {
		if url, ok := h["url"]; ok {
			h["url"] = digestOf(url)
		}
	}
	text, _ := json.Marshal(list) // of JSON
	return text
}

// digestOf is the beginning of a text's SHA-256, as JSON.
func digestOf(text json.RawMessage) json.RawMessage {
	var plain string
	if json.Unmarshal(text, &plain) != nil {
		plain = string(text)
	}
	sum := sha256.Sum256([]byte(plain))
	return json.RawMessage(`"sha256:` + hex.EncodeToString(sum[:6]) + `"`)
}

// endedHooks are the hooks that have ended, in this process.
type endedHooks struct {
	mu   sync.Mutex
	now  func() time.Time
	ends map[Address]HookEnd
}

// End implements [Outbox].
func (e *endedHooks) End(_ context.Context, hook Address, mark string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ends == nil {
		e.ends = map[Address]HookEnd{}
	}
	if e.ends[hook] = (HookEnd{mark, e.now()}); mark == "" {
		delete(e.ends, hook)
	}
	return nil
}

// Ended implements [Outbox].
func (e *endedHooks) Ended(context.Context) (map[Address]HookEnd, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return maps.Clone(e.ends), nil
}
