package messages

import (
	"strconv"
	"strings"
	"time"

	"sluice/gateway/rawjson"
)

// Speaks reports whether a client speaks this dialect: by the path that it asks for, or by a header that only its libraries send. The
// header counts only on paths that are shared by dialects or not served: give none on others.
func Speaks(path string, header map[string][]string) bool {
	return path == "/v1/messages" || strings.HasPrefix(path, "/v1/messages/") || len(header["Anthropic-Version"]) > 0
}

// Ping is the event by which the client of a silent stream knows that it goes on.
const Ping = "event: ping\ndata: {\"type\":\"ping\"}\n\n"

// Present moves a key from x-api-key, this dialect's header for it, to Authorization, unless the client has also sent that.
func Present(header map[string][]string) {
	if keys := header["X-Api-Key"]; len(keys) == 1 && len(header["Authorization"]) == 0 {
		header["Authorization"] = []string{"Bearer " + keys[0]}
	}
	delete(header, "X-Api-Key")
}

// AppendModel appends one model: {"type":"model","id","display_name","created_at"}. created is in seconds of Unix time.
func AppendModel(dst []byte, name string, created int64) []byte {
	dst = rawjson.Quote(append(dst, `{"type":"model","id":`...), name)
	dst = rawjson.Quote(append(dst, `,"display_name":`...), name)
	dst = append(dst, `,"created_at":"`...)
	return append(time.Unix(created, 0).UTC().AppendFormat(dst, time.RFC3339), `"}`...)
}

// AppendModels appends the list of models, in the order of their names here. There is one page.
func AppendModels(dst []byte, names []string, created int64) []byte {
	dst = append(dst, `{"data":[`...)
	for _, name := range names {
		dst = AppendModel(rawjson.Next(dst), name, created)
	}
	dst = append(dst, `],"has_more":false,"first_id":`...)
	if len(names) == 0 {
		return append(dst, `null,"last_id":null}`...)
	}
	dst = rawjson.Quote(dst, names[0])
	return append(rawjson.Quote(append(dst, `,"last_id":`...), names[len(names)-1]), '}')
}

// AppendCount appends the answer of count_tokens.
func AppendCount(dst []byte, tokens int64) []byte {
	return append(strconv.AppendInt(append(dst, `{"input_tokens":`...), tokens, 10), '}')
}
