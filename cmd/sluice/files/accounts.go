package files

import (
	"crypto/sha256"
	"fmt"
	"net/url"
	"strings"

	"sluice/gateway/accounts"
	"sluice/gateway/upstream"
	"sluice/policy/account"
	"sluice/policy/strictyaml"
	"sluice/policy/teams"
)

// Upstream are the accounts at the service and their keys. File is nil if its content is faulty.
type Upstream struct{ accounts.Set }

// Main returns the single account of the settings, for a gateway without an accounts file. It lacks the limits in the teams file.
func Main(base *url.URL, key upstream.Secret) Upstream {
	u := Upstream{accounts.Main(key)}
	u.File = teams.MainAccounts(base, nil)
	return u
}

// Upstream returns the accounts of the accounts file with their keys. bad has type [strictyaml.Faults] if the content or a key is faulty.
func (l *Look) Upstream() (u Upstream, bad error) {
	if l.AccountsErr != nil {
		return u, l.AccountsErr
	}
	var faults strictyaml.Faults
	u.File, u.Keys = l.Accounts, map[string]upstream.Secret{}
	for i, a := range l.Accounts.List {
		key := l.Keys[a.ID]
		u.Keys[a.ID] = key.Secret
		fault := strictyaml.Fault{Field: fmt.Sprintf("accounts[%d].key_file", i), Allowed: "a readable file with nothing but the account's key"}
		switch {
		case key.Err != nil:
			fault.Text = a.ID + ": " + key.Err.Error()
		case !IsKey(key.Secret):
			fault.Text = a.ID + ": the file does not hold a key"
		default:
			continue
		}
		faults = append(faults, fault)
	}
	if faults != nil {
		return Upstream{}, faults
	}
	return u, nil
}

// IsKey reports whether a secret can be sent as a key: visible ASCII characters, at least one.
func IsKey(key upstream.Secret) bool {
	return key != "" && !strings.ContainsFunc(key.Reveal(), func(r rune) bool { return r <= ' ' || r > '~' })
}

// Digests returns the digests of the keys. No team may have one of them.
func (u Upstream) Digests() (all []teams.Digest) {
	for _, key := range u.Keys {
		all = append(all, sha256.Sum256([]byte(key.Reveal())))
	}
	return all
}

// Warnings returns what is allowed but may be a mistake, one line each. file has the teams that the accounts serve; nil: it is faulty.
func (u Upstream) Warnings(file *teams.File) []string {
	all := u.File.Warnings()
	if file != nil {
		all = append(all, account.Warnings(u.File, file)...)
	}
	first := map[upstream.Secret]string{}
	for _, a := range u.File.List {
		key := u.Keys[a.ID]
		if other, twice := first[key]; twice {
			all = append(all, a.ID+" has the same key as "+other+", so that both share one account's limits and bill")
		} else {
			first[key] = a.ID
		}
		if a.KeyFile != "" && IsOpen(a.KeyFile) {
			all = append(all, "every user of this machine can read the key file of "+a.ID+"; chmod o-r")
		}
	}
	return all
}

// First returns the key of the first account.
func (u Upstream) First() upstream.Secret { return u.Keys[u.File.List[0].ID] }

// Lines describes each account on a line, its key redacted. base is the address of those that name none.
func (u Upstream) Lines(base *url.URL) (all []string) {
	for _, a := range u.File.List {
		at := base
		if a.URL != nil {
			at = a.URL
		}
		line := fmt.Sprintf("account %s: %v, key %v, models %s, teams %s, weight %d", a.ID, at, u.Keys[a.ID], Words(a.Models),
			Words(a.Teams), a.Weight)
		if a.Region != "" {
			line += ", region " + a.Region
		}
		all = append(all, line)
	}
	return all
}

// Words joins the words of a list; nil, which means all, is "*".
func Words[T ~string](list []T) string {
	if list == nil {
		return "*"
	}
	words := make([]string, len(list))
	for i, word := range list {
		words[i] = string(word)
	}
	return strings.Join(words, ",")
}

// AccountIDs returns the ids in an accounts file; none if it cannot be read.
func AccountIDs(path string) (ids []string) {
	text, err := Read(path)
	if err != nil {
		return nil
	}
	accounts, err := teams.ParseAccounts(text)
	if err != nil {
		return nil
	}
	for _, a := range accounts.List {
		ids = append(ids, a.ID)
	}
	return ids
}
