package store

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"
)

// Names beside those of objects, which no key has.
const (
	aboutEnd = ".about" // after an object's name: its metadata
	newDir   = ".new"   // has what is being written
	staleNew = time.Hour
)

// folder is the form for one machine. An object's metadata is in a file beside it, which is written first.
type folder struct{ root *os.Root }

// about is an object's metadata.
type about struct {
	Type   string `json:"type"`
	Task   string `json:"task,omitempty"`
	SHA256 string `json:"sha256"`
}

func openFolder(dir string) (*folder, error) {
	if err := os.MkdirAll(path.Join(dir, newDir), 0o700); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	f := &folder{root}
	return f, f.tidy()
}

// tidy removes what a process that died was writing.
func (f *folder) tidy() error {
	entries, err := fs.ReadDir(f.root.FS(), newDir)
	for _, e := range entries {
		if info, failed := e.Info(); failed == nil && time.Since(info.ModTime()) > staleNew {
			_ = f.root.Remove(path.Join(newDir, e.Name())) // the next start tries again
		}
	}
	return err
}

// Put implements [Store].
func (f *folder) Put(_ context.Context, key string, o *Object) error {
	if err := f.root.MkdirAll(path.Dir(key), 0o700); err != nil {
		return err
	}
	sum := sha256.Sum256(o.Body)
	text, err := json.Marshal(about{o.Type, o.Task, hex.EncodeToString(sum[:])})
	if err != nil {
		return err
	}
	if err := f.write(key+aboutEnd, text); err != nil {
		return err
	}
	return f.write(key, o.Body)
}

// write writes a file whole, or not at all.
func (f *folder) write(name string, content []byte) (err error) {
	fresh := path.Join(newDir, rand.Text())
	defer func() {
		if err != nil {
			_ = f.root.Remove(fresh)
		}
	}()
	file, err := f.root.OpenFile(fresh, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	return f.root.Rename(fresh, name)
}

// Get implements [Store].
func (f *folder) Get(_ context.Context, key string) (*Kept, error) {
	file, err := f.root.Open(key)
	if err != nil {
		return nil, absent(err)
	}
	info, err := file.Stat()
	if err == nil && info.IsDir() {
		err = ErrAbsent
	}
	var meta about
	if text, failed := f.root.ReadFile(key + aboutEnd); err == nil {
		err = cmp.Or(absent(failed), json.Unmarshal(text, &meta))
	}
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	return &Kept{ReadSeekCloser: file, Size: info.Size(), Type: meta.Type, Task: meta.Task, SHA256: meta.SHA256, Modified: info.ModTime()}, nil
}

func absent(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return ErrAbsent
	}
	return err
}

// List implements [Store].
func (f *folder) List(ctx context.Context, prefix, after string, most int) (keys []string, err error) {
	from := path.Dir(prefix + ".")
	err = fs.WalkDir(f.root.FS(), from, func(name string, e fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist): // it was removed meanwhile
			return nil
		case err != nil:
			return err
		case e.IsDir() && name == newDir:
			return fs.SkipDir
		case !e.IsDir() && !strings.HasSuffix(name, aboutEnd) && strings.HasPrefix(name, prefix) && name > after:
			keys = append(keys, name)
		}
		return ctx.Err()
	})
	slices.Sort(keys) // a walk sorts the parts of names
	return keys[:min(most, len(keys))], err
}

// Delete implements [Store].
func (f *folder) Delete(_ context.Context, keys []string) (err error) {
	for _, key := range keys {
		for _, name := range []string{key, key + aboutEnd} {
			if failed := f.root.Remove(name); failed != nil && !errors.Is(failed, fs.ErrNotExist) {
				err = failed
			}
		}
		for dir := path.Dir(key); dir != "." && f.root.Remove(dir) == nil; dir = path.Dir(dir) { // those that are empty now
		}
	}
	return err
}

// Sign implements [Store].
func (f *folder) Sign(context.Context, string, time.Duration) (string, error) {
	return "", ErrUnsigned
}
