package gateway

import "sluice/gateway/upstream"

// Secret is a string that must not be shown; see [upstream.Secret].
type Secret = upstream.Secret
