package simulator

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"mime"
	"net/http"
	"slices"
	"strings"
)

// Endpoint words, as in Received.Endpoint, Fault.On and Tally.
const (
	EndpointText       = "text"
	EndpointMultimodal = "multimodal"
	EndpointImage      = "image"
	EndpointSynthesis  = "synthesis" // the older image paths
	EndpointEmbeddings = "embeddings"
	EndpointTask       = "task"
	EndpointCancel     = "cancel"
	EndpointList       = "list"
	EndpointUploads    = "uploads"
	EndpointPicture    = "picture"
	EndpointOther      = "other" // no such path

	// EndpointModels is only for faults and limits: every endpoint that calls a model.
	EndpointModels = "models"
)

// picturePath begins the paths of pictures. It is outside of the versioned API, because the real service has pictures on another host.
const picturePath = "/pictures/"

// posts are the paths below /api/v1/ that take a JSON body.
var posts = map[string]string{
	"services/aigc/text-generation/generation":          EndpointText,
	"services/aigc/multimodal-generation/generation":    EndpointMultimodal,
	"services/aigc/image-generation/generation":         EndpointImage,
	"services/aigc/text2image/image-synthesis":          EndpointSynthesis,
	"services/aigc/image2image/image-synthesis":         EndpointSynthesis,
	"services/embeddings/text-embedding/text-embedding": EndpointEmbeddings,
}

// covers reports whether a word includes an endpoint: its own word, EndpointModels, or "" for every endpoint.
func covers(word, endpoint string) bool {
	return word == "" || word == endpoint || word == EndpointModels && slices.Contains(slices.Collect(maps.Values(posts)), endpoint)
}

// route is the endpoint of a path, and the task that the path names.
type route struct{ endpoint, method, taskID string }

// find returns the route of an escaped path. Only task paths may end in a slash. It is not http.ServeMux, which would redirect to a path
// with a slash, and answer 404 and 405 with its own texts.
func find(path string) route {
	if strings.HasPrefix(path, picturePath) {
		return route{endpoint: EndpointPicture, method: http.MethodGet}
	}
	rest, ok := strings.CutPrefix(path, "/api/v1/")
	if endpoint := posts[rest]; ok && endpoint != "" {
		return route{endpoint: endpoint, method: http.MethodPost}
	}
	part := strings.Split(strings.TrimSuffix(rest, "/"), "/")
	switch {
	case !ok:
	case rest == "uploads":
		return route{endpoint: EndpointUploads, method: http.MethodGet}
	case part[0] != "tasks" || len(part) > 1 && part[1] == "":
	case len(part) == 1:
		return route{endpoint: EndpointList, method: http.MethodGet}
	case len(part) == 2:
		return route{EndpointTask, http.MethodGet, part[1]}
	case len(part) == 3 && part[2] == "cancel":
		return route{EndpointCancel, http.MethodPost, part[1]}
	}
	return route{endpoint: EndpointOther}
}

// call is one request and its state.
type call struct {
	route
	*Received
	cfg     *Config
	r       *http.Request
	body    []byte
	account *account // nil: its key is invalid
	fault   Fault

	sse, async bool // the header wants a stream, or a task

	// From the body of a request to a model; empty until parse.
	model             string
	doc, input, param object
}

// receive reads a request. The error is errTooLarge or errBody.
func receive(r *http.Request, cfg *Config) (*call, error) {
	body, err := io.ReadAll(io.LimitReader(r.Body, cfg.MaxBody+1))
	switch {
	case err != nil:
		err = errBody // incomplete, badly framed, or the client has left
	case int64(len(body)) > cfg.MaxBody:
		err = errTooLarge
	}
	// Any word but enable, such as disable, means absent.
	enabled := func(name string) bool {
		return strings.EqualFold(strings.TrimSpace(r.Header.Get(cfg.HeaderPrefix+name)), "enable")
	}
	c := &call{
		route: find(r.URL.EscapedPath()), cfg: cfg, r: r, body: body,
		sse:   enabled("SSE") || strings.Contains(strings.ToLower(r.Header.Get("Accept")), "text/event-stream"),
		async: enabled("Async"),
	}
	c.Received = newReceived(r, body, cfg.KeepBody)
	c.ID, c.At, c.Endpoint = newUUID(), cfg.Now(), c.endpoint
	return c, err
}

// parse reads the body of a request to a model, which must be a JSON object. Of a repeated member the last one counts, so a gateway must
// not pass such a body.
func (c *call) parse() error {
	if ct := c.r.Header.Get("Content-Type"); ct != "" {
		if media, _, err := mime.ParseMediaType(ct); err != nil || media != "application/json" {
			return errMedia
		}
	}
	if err := json.Unmarshal(c.body, &c.doc); err != nil || c.doc == nil {
		return errBody
	}
	c.model, c.input, c.param = get[string](c.doc, "model"), get[object](c.doc, "input"), get[object](c.doc, "parameters")
	return nil
}

// streams reports whether the call wants a stream on a path that has one.
func (c *call) streams() bool {
	return c.sse && (c.endpoint == EndpointText || c.endpoint == EndpointMultimodal || c.endpoint == EndpointImage)
}

// object is a JSON object of a request.
type object = map[string]any

// get returns the value at a path of member names in parsed JSON. For an absent value or one of another type it returns the zero value: the
// rules judge whether that is allowed.
func get[T any](v any, names ...string) T {
	for _, name := range names {
		o, _ := v.(object)
		v = o[name]
	}
	t, _ := v.(T)
	return t
}

// integer returns the whole number in a member, or absent.
func integer(o object, name string, absent int) int {
	if f, ok := o[name].(float64); ok && f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		return int(f)
	}
	return absent
}

// newUUID makes a random UUID.
func newUUID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails, see its documentation
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
