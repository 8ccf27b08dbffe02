package simulator

import (
	"net/http"
	"slices"
	"strings"
	"sync"
)

// keys are the API keys of the account, safe for concurrent use. None accepts every key.
type keys struct {
	mu   sync.Mutex
	list []string
}

func (k *keys) set(list []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.list = slices.Clone(list)
}

// accept reports whether the request carries a key of the account, in exactly one Authorization header.
func (k *keys) accept(r *http.Request) bool {
	values := r.Header.Values("Authorization")
	if len(values) != 1 {
		return false
	}
	scheme, key, _ := strings.Cut(values[0], " ")
	key = strings.TrimSpace(key)
	k.mu.Lock()
	defer k.mu.Unlock()
	return strings.EqualFold(scheme, "Bearer") && key != "" && (len(k.list) == 0 || slices.Contains(k.list, key))
}
