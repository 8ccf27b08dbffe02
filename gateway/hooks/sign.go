package hooks

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"strconv"
	"strings"
	"time"

	"sluice/gateway/upstream"
)

// The headers of a delivery, as Standard Webhooks name them.
const (
	headerID        = "webhook-id"
	headerTimestamp = "webhook-timestamp"
	headerSignature = "webhook-signature"
)

// secretMark begins a secret.
const secretMark = "whsec_"

// Bounds of a secret in bytes, as Standard Webhooks have them.
const (
	leastSecret = 24
	mostSecret  = 64
)

// errSecret does not show the secret.
var errSecret = errors.New("the content is not whsec_ and 24 to 64 bytes in base64")

// keyOf is the key in a secret.
func keyOf(secret upstream.Secret) ([]byte, error) {
	text, marked := strings.CutPrefix(secret.Reveal(), secretMark)
	key, err := base64.StdEncoding.DecodeString(text)
	if !marked || err != nil || len(key) < leastSecret || len(key) > mostSecret {
		return nil, errSecret
	}
	return key, nil
}

// stamp is a moment as the header has it.
func stamp(at time.Time) string { return strconv.FormatInt(at.Unix(), 10) }

// signature is the header's value: one signature for each key.
func signature(keys [][]byte, id, stamp string, body []byte) string {
	all := make([]string, len(keys))
	for i, key := range keys {
		mac := hmac.New(sha256.New, key)
		_, _ = mac.Write([]byte(id + "." + stamp + "."))
		_, _ = mac.Write(body)
		all[i] = "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	}
	return strings.Join(all, " ")
}
