package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"sluice/policy/teams"
)

// Save writes a state to a file that only its owner can read, and that is never visible half-written, and its raises
// to a file beside it. [Load] reads it.
func Save(path string, s teams.State) error {
	if err := saveRaises(path, s); err != nil {
		return err
	}
	return replace(path, encode(s))
}

// Load reads a state that [Save] wrote; a file that does not exist is the zero State. It does not judge the document.
func Load(path string) (teams.State, error) {
	text, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return teams.State{}, nil
	case err != nil:
		return teams.State{}, pathless(err)
	}
	s, err := decode(text)
	if err == nil {
		s.Raises, err = loadRaises(path, s)
	}
	return s, err
}

// encode writes a state as one JSON object: the document's members, and audit, the end of its trail.
func encode(s teams.State) []byte {
	var out []byte
	if s.Document == nil {
		out = append(out, "{"...)
	} else {
		out = append(bytes.TrimSuffix(bytes.Clone(s.Document), []byte("}\n")), ",\n"...)
	}
	out = strconv.AppendInt(append(out, `"audit":{"first":`...), s.First, 10)
	return append(append(append(out, `,"last":`...), s.Last...), "}}\n"...)
}

func decode(text []byte) (s teams.State, err error) {
	var raw struct {
		Version json.RawMessage `json:"version"`
		Teams   json.RawMessage `json:"teams"`
		Audit   struct {
			First int64           `json:"first"`
			Last  json.RawMessage `json:"last"`
		} `json:"audit"`
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&raw); err != nil || len(raw.Audit.Last) == 0 || d.More() {
		return s, errors.New("is not a directory that Sluice wrote; to change one, use sluice directory import")
	}
	if raw.Teams != nil {
		s.Document = fmt.Appendf(nil, "{\"version\":%s,\n\"teams\":%s}\n", raw.Version, raw.Teams)
	}
	s.First, s.Last = raw.Audit.First, raw.Audit.Last
	return s, nil
}

// replace gives a file new content: a file beside it takes its name.
func replace(path string, content []byte) error {
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.tmp") // it has mode 0600
	if err != nil {
		return pathless(err)
	}
	_, err = file.Write(content)
	if err == nil {
		err = file.Sync()
	}
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		_ = os.Remove(file.Name())
		return pathless(err)
	}
	return syncDir(filepath.Dir(path))
}

// syncDir makes a new name in a directory durable. It ignores that some systems cannot do it.
func syncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return pathless(err)
	}
	_ = dir.Sync()
	return dir.Close()
}

// pathless removes paths from an error: they may be secrets in the wrong variable.
func pathless(err error) error {
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		return path.Err
	case errors.As(err, &link):
		return link.Err
	}
	return err
}
