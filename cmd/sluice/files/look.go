package files

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"path/filepath"

	"sluice/gateway/upstream"
	"sluice/policy/teams"
)

// Paths are the paths of the watched files. An empty one means no file.
type Paths struct {
	Teams    string
	Accounts string
	Key      string // the key of the settings' account; ignored if there is an accounts file
}

// Look is the content of the watched files at one moment. Paths are opened anew each time, so that a swapped symbolic link is noticed.
type Look struct {
	Teams    []byte
	TeamsErr error
	// Accounts is the parsed accounts file; nil: there is none, or it is faulty, see AccountsErr.
	Accounts    *teams.Accounts
	AccountsErr error
	// Keys are the keys in files, by the ids of the accounts at the service.
	Keys map[string]Key

	text []byte // of the accounts file
}

// Key is the content of a key file.
type Key struct {
	Secret upstream.Secret
	Err    error
}

// At reads the files. before is the previous look, which saves parsing unchanged files; the zero Look means none.
func At(p Paths, before Look) (l Look) {
	l.Teams, l.TeamsErr = Read(p.Teams)
	l.Keys = map[string]Key{}
	switch {
	case p.Accounts != "":
		l.readAccounts(p.Accounts, &before)
	case p.Key != "":
		l.Keys[teams.MainAccount] = keyIn(p.Key)
	}
	return l
}

func (l *Look) readAccounts(path string, before *Look) {
	if l.text, l.AccountsErr = Read(path); l.AccountsErr != nil {
		return
	}
	if before.text != nil && bytes.Equal(l.text, before.text) {
		l.Accounts, l.AccountsErr = before.Accounts, before.AccountsErr
	} else {
		l.Accounts, l.AccountsErr = parseAccounts(path, l.text)
	}
	if l.AccountsErr != nil {
		return
	}
	for _, a := range l.Accounts.List {
		l.Keys[a.ID] = keyIn(a.KeyFile)
	}
}

// parseAccounts parses an accounts file. Relative paths of key files are resolved against its folder.
func parseAccounts(path string, text []byte) (*teams.Accounts, error) {
	accounts, err := teams.ParseAccounts(text)
	if err != nil {
		return nil, err
	}
	for _, a := range accounts.List {
		if !filepath.IsAbs(a.KeyFile) {
			a.KeyFile = filepath.Join(filepath.Dir(path), a.KeyFile)
		}
	}
	return accounts, nil
}

func keyIn(path string) (k Key) {
	k.Secret, k.Err = Secret(path)
	return k
}

// Sum returns a hash of the content. It ignores times and inodes, which may not change on mounted files.
func (l *Look) Sum() [sha256.Size]byte {
	parts := []string{string(l.Teams), fmt.Sprint(l.TeamsErr), string(l.text), fmt.Sprint(l.AccountsErr)}
	ids := []string{teams.MainAccount}
	if l.Accounts != nil {
		ids = ids[:0]
		for _, a := range l.Accounts.List {
			ids = append(ids, a.ID)
		}
	}
	for _, id := range ids {
		parts = append(parts, id, l.Keys[id].Secret.Reveal(), fmt.Sprint(l.Keys[id].Err))
	}
	var all []byte
	for _, part := range parts {
		all = binary.AppendUvarint(all, uint64(len(part)))
		all = append(all, part...)
	}
	return sha256.Sum256(all)
}
