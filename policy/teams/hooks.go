package teams

import (
	"fmt"
	"slices"
	"time"

	"sluice/policy/event"
	"sluice/policy/strictyaml"
)

const (
	maxHooks = 20 // of one owner
	hookURL  = "an address such as https://jobs.example/hook, without user and fragment; http on this machine, or with insecure: true"
)

var (
	hookEvents = strictyaml.Word[event.Pattern](fmt.Sprintf("*, task.*, quota.*, or a type of %s", strictyaml.AnyOf(event.Types)),
		event.IsPattern)
	hookKind = strictyaml.Choice(event.Slack)
)

// readHooks reads the hooks of a team, which replace those of the defaults, or the operators' hooks.
func readHooks(n strictyaml.Node) (all []event.Hook) {
	if n.IsNone() {
		return nil
	}
	n.Items("a list of hooks, or none", func(item strictyaml.Node) {
		h := readHook(item)
		if slices.ContainsFunc(all, func(o event.Hook) bool { return o.ID == h.ID }) && h.ID != "" {
			item.Refuse(h.ID, "each id once among the hooks of a team, and among the operators'")
		}
		all = append(all, h)
	})
	n.AtMost(maxHooks, len(all), "hooks")
	return all
}

func readHook(n strictyaml.Node) (h event.Hook) {
	var address strictyaml.Node
	given := n.Fields(
		strictyaml.Must("id", strictyaml.One(&h.ID, ownID)),
		strictyaml.Must("url", func(v strictyaml.Node) {
			h.URL, _ = v.Text()
			address = v
		}),
		strictyaml.May("events", strictyaml.Some(&h.Events, "types of events", hookEvents)),
		strictyaml.May("secret_file", func(v strictyaml.Node) {
			path, _ := strictyaml.Read(v, filePath)
			h.Secrets = append(h.Secrets, path)
		}),
		strictyaml.May("secrets", func(v strictyaml.Node) {
			h.Secrets = append(h.Secrets, strictyaml.List(v, "paths of files", filePath, "each file once")...)
		}),
		strictyaml.May("insecure", strictyaml.One(&h.Insecure, strictyaml.Flag)),
		strictyaml.May("kind", strictyaml.One(&h.Kind, hookKind)),
	)
	if given["url"] && !event.IsHookURL(h.URL, h.Insecure) {
		address.Fault(strictyaml.Fault{Given: "another text (not shown: it may be a secret)", Allowed: hookURL})
	}
	if given["secret_file"] && given["secrets"] {
		n.Fault(strictyaml.Fault{Given: "secret_file beside secrets", Allowed: "one of them"})
	} else if misfit, allowed := h.Misfit(); misfit != "" && given != nil {
		n.Fault(strictyaml.Fault{Given: misfit, Allowed: allowed})
	}
	return h
}

// readAlert reads the per cents of quotas at which the use is reported.
func readAlert(n strictyaml.Node) (alert []int) {
	if n.IsNone() {
		return nil
	}
	alert = strictyaml.List(n, "per cent", percent, "each once")
	if n.IsList() && !slices.IsSorted(alert) {
		n.Fault(strictyaml.Fault{Given: "percentages that do not rise", Allowed: "the smallest first"})
	}
	return alert
}

const (
	leastKept   = 24 * time.Hour
	longestKept = 3650 * 24 * time.Hour
)

var kept = strictyaml.Form[time.Duration]{Allowed: `whole hours from "24h" to "87600h"`, Parse: func(text string) (time.Duration, bool) {
	keep, err := time.ParseDuration(text)
	return keep, err == nil && keep >= leastKept && keep <= longestKept && keep%time.Hour == 0
}}

// readMirror reads how long pictures are kept, which replaces the default.
func readMirror(n strictyaml.Node) (keep time.Duration) {
	if !n.IsNone() {
		n.Fields(strictyaml.Must("keep", strictyaml.One(&keep, kept)))
	}
	return keep
}
