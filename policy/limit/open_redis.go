package limit

import "context"

// openBatch is how many open holds are read in one call.
const openBatch = 1000

// openHolds counts the open holds of a team. They are read in pieces, so that a team with very many keeps Redis from
// nobody; what ends in between may hide another from this count.
func (r *Redis) openHolds(ctx context.Context, team string) (o openHolds, err error) {
	key := r.keysOf(team).open
	for from := int64(0); ; from += openBatch {
		ids, err := r.client.ZRange(ctx, key, from, from+openBatch-1).Result()
		if err != nil {
			return o, err
		}
		for _, id := range ids {
			o.note(madeAt(id))
		}
		if len(ids) < openBatch {
			return o, nil
		}
	}
}
