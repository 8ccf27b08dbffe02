package settings

import (
	"errors"
	"math"
	"net/netip"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/caarlos0/env/v11"

	"sluice/gateway/mirror/store"
	"sluice/gateway/upstream"
	"sluice/policy"
	"sluice/policy/forms"
	"sluice/policy/teams"
)

// parsers parse the types of settings beyond numbers, words and durations. Their errors are hidden, except faults of rules, where
// policy decides which part of a value to quote.
var parsers = map[reflect.Type]env.ParserFunc{
	reflect.TypeFor[ByteSize]():       func(v string) (any, error) { return parseSize(v) },
	reflect.TypeFor[time.Location]():  func(v string) (any, error) { return parseOffset(v) },
	reflect.TypeFor[policy.Pattern](): parseWord[policy.Pattern],
	reflect.TypeFor[forms.Path]():     func(v string) (any, error) { return parseForwardPath(v) },
	reflect.TypeFor[hostName]():       func(v string) (any, error) { return parseHostName(v) },
	reflect.TypeFor[policy.Modes]():   func(v string) (any, error) { return teams.ParseModes(v) },
	reflect.TypeFor[traceTemplate]():  func(v string) (any, error) { return parseTraceTemplate(v) },
	reflect.TypeFor[Origin]():         func(v string) (any, error) { return parseOrigin(v) },
	reflect.TypeFor[upstream.Host]():  func(v string) (any, error) { return upstream.ParseHost(strings.TrimSpace(v)) },
	reflect.TypeFor[store.Address]():  func(v string) (any, error) { return store.ParseAddress(v) },
	reflect.TypeFor[member]():         parseWord[member],
	reflect.TypeFor[Network]():        func(v string) (any, error) { return parseNetwork(v) },
}

var errValue = errors.New("not allowed")

// ByteSize is a number of bytes, written as a whole number with the unit B (or none), KiB, MiB or GiB.
type ByteSize int64

var sizeForm = regexp.MustCompile(`^([0-9]{1,18})(B|KiB|MiB|GiB)?$`)

func parseSize(text string) (ByteSize, error) {
	parts := sizeForm.FindStringSubmatch(text)
	if parts == nil {
		return 0, errValue
	}
	n, err := strconv.ParseInt(parts[1], 10, 64)
	shift := map[string]int{"KiB": 10, "MiB": 20, "GiB": 30}[parts[2]]
	if err != nil || n > math.MaxInt64>>shift {
		return 0, errValue
	}
	return ByteSize(n << shift), nil
}

// String writes the size in the largest unit that divides it.
func (b ByteSize) String() string {
	for _, unit := range []struct {
		name  string
		shift int
	}{{"GiB", 30}, {"MiB", 20}, {"KiB", 10}} {
		if whole := b >> unit.shift; whole > 0 && whole<<unit.shift == b {
			return strconv.FormatInt(int64(whole), 10) + unit.name
		}
	}
	return strconv.FormatInt(int64(b), 10) + "B"
}

var offsetForm = regexp.MustCompile(`^[+-](0[0-9]|1[0-4]):[0-5][0-9]$`)

// parseOffset parses "+08:00". It refuses zone names: they need a zone database, and the service's times have a fixed offset.
func parseOffset(text string) (time.Location, error) {
	t, err := time.Parse("-07:00", text)
	if err != nil || !offsetForm.MatchString(text) {
		return time.Location{}, errValue
	}
	_, seconds := t.Zone()
	return *time.FixedZone(text, seconds), nil
}

// Network is a range of addresses, such as 10.0.0.0/8.
type Network netip.Prefix

// String returns the form that parseNetwork parses.
func (n Network) String() string { return netip.Prefix(n).String() }

// parseNetwork parses one element of a list; an address is a network of one. It refuses bits beyond the prefix length, which may mean one
// address or the whole network, and IPv4 in the form of IPv6, which a client's IPv4 address never matches.
func parseNetwork(text string) (Network, error) {
	text = strings.TrimSpace(text)
	read, err := netip.ParsePrefix(text)
	if one, failed := netip.ParseAddr(text); failed == nil && one.Zone() == "" {
		read, err = one.Prefix(one.BitLen())
	}
	if err != nil || read != read.Masked() || read.Addr().Is4In6() {
		return Network{}, errValue
	}
	return Network(read), nil
}

// member is a group or an e-mail address of the issuer.
type member string

// parseWord parses one element of a comma-separated list, and trims blanks.
func parseWord[T ~string](text string) (any, error) {
	text = strings.TrimSpace(text)
	if text == "" || strings.ContainsFunc(text, func(r rune) bool { return r < 0x20 || r == 0x7f }) {
		return nil, errValue
	}
	return T(text), nil
}

// Segments of dots only, and characters that need escaping, are refused: servers read them differently.
var forwardForm = regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9._-]*(/[A-Za-z0-9_-][A-Za-z0-9._-]*)*$`)

// answered are the paths that Sluice answers itself. A forwarded prefix above or below one of them would bypass its checks: a
// team could read another team's task, or make images that no quota counts.
var answered = []string{
	"tasks",
	"services/aigc/text-generation/generation",
	"services/aigc/multimodal-generation/generation",
	"services/aigc/image-generation/generation",
	"services/aigc/text2image/image-synthesis",
	"services/aigc/image2image/image-synthesis",
}

func parseForwardPath(text string) (forms.Path, error) {
	p, known := forms.ReadPath(strings.TrimSpace(text))
	if !known || !isFree(p.Prefix) {
		return forms.Path{}, errValue
	}
	return p, nil
}

// isFree reports whether a path of the service may be forwarded: it is no path that Sluice answers itself, nor above or below one.
func isFree(path string) bool {
	return forwardForm.MatchString(path) && !slices.ContainsFunc(answered,
		func(own string) bool { return covers(path, own) || covers(own, path) })
}

// mixed reports whether a prefix lies below another one with a different form: a path in another spelling would be read with the wrong
// form.
func mixed(paths []forms.Path) bool {
	for _, a := range paths {
		for _, b := range paths {
			if a.Form != b.Form && covers(a.Prefix, b.Prefix) {
				return true
			}
		}
	}
	return false
}

// covers reports whether path is prefix or lies below it. It ignores case, as the service may.
func covers(prefix, path string) bool {
	return len(path) >= len(prefix) && strings.EqualFold(path[:len(prefix)], prefix) &&
		(len(path) == len(prefix) || path[len(prefix)] == '/')
}

// hostName is the name in a Host header, in lower case, without port.
type hostName string

var hostForm = regexp.MustCompile(`^[a-z0-9]([a-z0-9._-]{0,251}[a-z0-9])?$`)

func parseHostName(text string) (hostName, error) {
	text = strings.ToLower(strings.TrimSpace(text))
	if !hostForm.MatchString(text) {
		return "", errValue
	}
	return hostName(text), nil
}

// Origin is the address of a page's site as browsers send it in the Origin header: scheme, host, and a port if it is not the
// scheme's own.
type Origin string

var (
	// Desktop programs and extensions have schemes that are not a web page's.
	schemeForm = regexp.MustCompile(`^[a-z][a-z0-9+.-]*$`)
	// A host outside ASCII is written xn--…, as browsers send it.
	originHostForm = regexp.MustCompile(`^[a-z0-9_]([a-z0-9._-]{0,251}[a-z0-9_])?$`)
)

// defaultPorts are left out by browsers.
var defaultPorts = map[string]string{"http": "80", "https": "443"}

// parseOrigin parses one element of a list. It refuses origins that browsers never send, because they would never match.
func parseOrigin(text string) (Origin, error) {
	text = strings.ToLower(strings.TrimSpace(text))
	scheme, rest, found := strings.Cut(text, "://")
	if !found || !schemeForm.MatchString(scheme) || scheme == "file" { // a file's origin is null
		return "", errValue
	}
	host := rest
	if i := strings.LastIndexByte(rest, ':'); i >= 0 && !strings.HasSuffix(rest, "]") {
		port := rest[i+1:]
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 || strconv.FormatUint(n, 10) != port || port == defaultPorts[scheme] {
			return "", errValue
		}
		host = rest[:i]
	}
	if !originHostForm.MatchString(host) && !isBracketed(host) {
		return "", errValue
	}
	return Origin(text), nil
}

// isBracketed reports whether host is an IPv6 address in its shortest form.
func isBracketed(host string) bool {
	inside, opens := strings.CutPrefix(host, "[")
	inside, closes := strings.CutSuffix(inside, "]")
	address, err := netip.ParseAddr(inside)
	return opens && closes && err == nil && address.Is6() && !address.Is4In6() && address.Zone() == "" && address.String() == inside
}

// traceTemplate is the address of a trace in the operator's tool, with {trace} in place of its id.
type traceTemplate string

func parseTraceTemplate(text string) (traceTemplate, error) {
	u, err := url.Parse(strings.ReplaceAll(text, "{trace}", "0"))
	if err != nil || u.Host == "" || u.User != nil || u.Scheme != "https" && u.Scheme != "http" || !strings.Contains(text, "{trace}") {
		return "", errValue
	}
	return traceTemplate(text), nil
}

// Prefixes converts the networks of a setting.
func Prefixes(networks []Network) []netip.Prefix {
	all := make([]netip.Prefix, len(networks))
	for i, network := range networks {
		all[i] = netip.Prefix(network)
	}
	return all
}
