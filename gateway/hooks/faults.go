package hooks

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strings"

	"sluice/gateway/upstream"
	"sluice/policy/event"
	"sluice/policy/strictyaml"
	"sluice/policy/teams"
)

// What faults say is allowed.
const (
	allowedAddress = "public ones, and the networks of SLUICE_HOOK_NETWORKS"
	allowedSecret  = "a readable file with nothing but whsec_ and 24 to 64 bytes in base64"
)

var errOdd = errors.New("its host is an address in a form that programs read differently")

// odd reports whether a host is an address in another form than usual, such as 2130706433, 0x7f.1 or 0177.0.0.1, which the system's
// resolver may read. It decides as browsers do: the last part of the name is a number.
func odd(host string) bool {
	if _, err := netip.ParseAddr(host); err == nil {
		return false
	}
	labels := strings.Split(strings.TrimSuffix(host, "."), ".")
	last := strings.ToLower(labels[len(labels)-1])
	if hex, is := strings.CutPrefix(last, "0x"); is {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return last != "" && strings.Trim(last, "0123456789") == ""
}

// owned is an owner's hooks.
type owned struct {
	owner string
	hooks []event.Hook
}

// all lists the operators' hooks and those of every team.
func all(file *teams.File) []owned {
	if file == nil {
		return nil
	}
	list := []owned{{event.Operators, file.Hooks}}
	for _, team := range file.List {
		if len(team.Hooks) > 0 {
			list = append(list, owned{team.ID, team.Hooks})
		}
	}
	return list
}

// Routes returns the routes of the teams file in force.
func Routes(file func() *teams.File) event.Routes {
	return func(owner string, t event.Type, callback string) []event.Target {
		return file().Hooked(owner, t, callback)
	}
}

// Faults lists what is wrong with hooks beside their form: addresses that are never connected to, and files of secrets. Faults that several
// teams have from the defaults are reported once, and name one of the teams. No file has none.
func Faults(file *teams.File, posting PosterConfig) (faults strictyaml.Faults) {
	index := map[strictyaml.Fault]int{}
	owners := map[int][]string{}
	for _, of := range all(file) {
		for i := range of.hooks {
			for _, f := range faultsOf(&of.hooks[i], &posting) {
				at, known := index[f]
				if !known {
					at = len(faults)
					index[f], faults = at, append(faults, f)
				}
				if of.owner != event.Operators {
					owners[at] = append(owners[at], of.owner)
				}
			}
		}
	}
	for at, teams := range owners {
		faults[at].Field += " of team " + teams[0]
		if len(teams) > 1 {
			faults[at].Field += fmt.Sprintf(" and %d more", len(teams)-1)
		}
	}
	return faults
}

func faultsOf(h *event.Hook, posting *PosterConfig) (faults strictyaml.Faults) {
	u, err := url.Parse(h.URL)
	if err != nil {
		return nil // it was read strictly
	}
	address, err := netip.ParseAddr(u.Hostname())
	switch {
	case err == nil && !upstream.MayConnect(address, posting.Networks):
		faults = append(faults, strictyaml.Fault{
			Field: "hooks." + h.ID + ".url", Given: "an address that is not public",
			Allowed: allowedAddress,
		})
	case odd(u.Hostname()):
		faults = append(faults, strictyaml.Fault{
			Field: "hooks." + h.ID + ".url", Text: errOdd.Error(),
			Allowed: "four decimal numbers, or [IPv6]",
		})
	}
	for _, path := range h.Secrets {
		content, err := posting.Secret(path)
		if err == nil {
			_, err = keyOf(content)
		}
		if err != nil {
			faults = append(faults, strictyaml.Fault{Field: "hooks." + h.ID, Text: "the file of its secret: " + err.Error(), Allowed: allowedSecret})
		}
	}
	return faults
}
