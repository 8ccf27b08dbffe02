package store

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"

	"sluice/policy/teams"
)

// The raises are in a file beside the directory, because versions without raises read the directory's file strictly. It is
// written before the directory's file, whose rename puts the change in force. So it has the raises after the last change
// and those before it, each with the number of the entry from which on they count.
type keptRaises struct {
	Since  int64  `json:"since"`
	Raises string `json:"raises"` // their exact text, of which the audit has the digest
}

func raisesPath(path string) string { return path + ".raises" }

// readRaises returns the raises that the file has, the newest first.
func readRaises(path string) (list []keptRaises, err error) {
	text, err := os.ReadFile(raisesPath(path))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, pathless(err)
	}
	return list, json.Unmarshal(text, &list)
}

// at returns the first of some raises that count at an entry; the zero value: none do.
func at(list []keptRaises, entry int64) (r keptRaises) {
	for _, r := range list {
		if r.Since <= entry {
			return r
		}
	}
	return r
}

// loadRaises returns the raises of a state.
func loadRaises(path string, s teams.State) ([]byte, error) {
	list, err := readRaises(path)
	if err != nil || list == nil {
		return nil, err
	}
	last, err := teams.ReadEntry(s.Last)
	if r := at(list, last.Seq); r.Raises != "" {
		return []byte(r.Raises), err
	}
	return nil, err
}

// saveRaises writes the raises of a state that is about to be written, unless the file has them.
func saveRaises(path string, s teams.State) error {
	list, err := readRaises(path)
	if err != nil || s.Raises == nil && list == nil {
		return err
	}
	last, err := teams.ReadEntry(s.Last)
	if err != nil || at(list, last.Seq).Raises == string(s.Raises) {
		return err
	}
	kept := []keptRaises{{last.Seq, string(s.Raises)}}
	if before := at(list, last.Seq-1); before.Raises != "" {
		kept = append(kept, before)
	}
	return writeJSON(raisesPath(path), kept)
}
