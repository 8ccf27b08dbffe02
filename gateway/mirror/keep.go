package mirror

import (
	"context"
	"log/slog"

	"sluice/policy/event"
)

// batch is how many objects are listed, and deleted, in one call.
const batch = 1000

// deleteOld deletes what teams no longer keep, unless another replica does so in this hour.
func (m *Mirror) deleteOld(ctx context.Context, hour int64) {
	first, err := m.First(ctx, event.Name{Owner: event.Operators, Name: "mirror:keep", Limit: hour, Again: true})
	m.noteOutbox(ctx, err)
	if err != nil || !first {
		return
	}
	for team, keep := range m.Keep() {
		n, err := m.deleteBefore(ctx, team, firstKept(team, keep, m.Now()))
		if n > 0 {
			m.Measures.MirrorDeleted(n)
			m.Log.LogAttrs(ctx, slog.LevelInfo, "mirror", slog.String("team", team), slog.Int("deleted", n))
		}
		if err != nil && ctx.Err() == nil {
			m.Log.LogAttrs(ctx, slog.LevelWarn, "mirror", slog.String("team", team),
				slog.String("error", "expired pictures cannot be deleted: "+err.Error()))
		}
	}
}

// deleteBefore deletes a team's pictures before a key, the oldest first, and returns how many.
func (m *Mirror) deleteBefore(ctx context.Context, team, first string) (n int, err error) {
	for after := ""; ctx.Err() == nil; {
		list, err := m.Store.List(ctx, team+"/", after, batch)
		if err != nil {
			return n, err
		}
		old, pictures := oldOf(team, first, list)
		if len(old) > 0 {
			err = m.Store.Delete(ctx, old)
		}
		if err != nil {
			return n, err
		}
		if n += pictures; len(list) < batch || list[len(list)-1] >= first {
			return n, nil
		}
		after = list[len(list)-1]
	}
	return n, ctx.Err()
}

// oldOf returns the keys to delete for the pictures of a list before a key: theirs, and those of the objects that find them.
func oldOf(team, first string, list []string) (old []string, pictures int) {
	last := ""
	for _, key := range list {
		_, task, _, ok := pictureOf(key)
		if key >= first || !ok {
			continue
		}
		if task != last {
			old = append(old, dayKey(team, task))
		}
		old, pictures, last = append(old, key), pictures+1, task
	}
	return old, pictures
}
