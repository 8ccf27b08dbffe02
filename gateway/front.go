package gateway

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"sluice/gateway/fetch"
	"sluice/gateway/openai"
	"sluice/gateway/wire"
	"sluice/policy"
)

// frontPrefix begins the paths of OpenAI's interface. frontRoot is its base URL's path, which is not served.
const (
	frontRoot   = "/v1"
	frontPrefix = frontRoot + "/"
)

// frontName is the word for OpenAI's interface in the log.
const frontName = "openai"

// fronts serves OpenAI's interface. One stage puts the service's request in place of the client's; below the reply, a
// front.Writer turns the answer into OpenAI's. All between them is the chain of every request.
type fronts struct {
	config  *Config
	headers *headers
	natives map[string]*route // the service's routes, by path
	created int64             // of the models that are listed, in seconds: when this process began
	polls   *polls
	buffers *wire.Buffers
	fetcher *fetch.Fetcher // of pictures that a client wants itself, and not their addresses

	vision, sync func(model string) bool // what [openai.Models] asks for
}

func newFronts(config *Config, headers *headers, created time.Time) *fronts {
	families := &config.Families
	return &fronts{
		config: config, headers: headers, created: created.Unix(),
		fetcher: fetch.New(fetch.Config{Hosts: config.ResultHosts, Networks: config.ResultNetworks}),
		vision:  func(model string) bool { return policy.MatchAny(families.Vision, model) },
		sync:    func(model string) bool { return policy.MatchAny(families.SyncImage, model) },
	}
}

// on is the value of a contract header that is set.
var on = []string{"enable"}

// serves reports whether an address belongs to OpenAI's interface, also one that is not served.
func (f *fronts) serves(to *url.URL) bool {
	return f.config.OpenAI && to != nil && (strings.HasPrefix(to.Path, frontPrefix) || to.Path == frontRoot)
}

// translate reads the body and puts the service's request in place of the client's. It comes before every stage that depends on
// the endpoint or the kind.
func (f *fronts) translate(kind frontRequest) stage {
	return func(next handler) handler {
		return func(w *reply, r *http.Request, s *requestState) error {
			w.front.Params = kind.params
			if err := readBody(w, r, s, f.buffers); err != nil {
				return err
			}
			request, err := kind.read(r, s, f.models(s))
			if errors.Is(err, openai.ErrNoRoom) {
				return refuseOutOfMemory()
			}
			if err == nil && request.Base64 && !f.fetcher.Allowed() {
				err = errOnlyAddresses
			}
			if err != nil {
				return refuseMember(w, err)
			}
			if err := f.replace(s, request); err != nil {
				return err
			}
			if w.front.Memory = &s.memory; kind.chat {
				w.front.Chat(openai.Head{ID: s.ID, Created: s.start.Unix(), Model: request.Model}, request.Stream, request.Usage)
			}
			return next(w, r, s)
		}
	}
}

// errOnlyAddresses refuses a request for the pictures themselves.
var errOnlyAddresses = &openai.Refusal{
	Status: http.StatusBadRequest, Code: "InvalidParameter", Param: "response_format",
	Message: "response_format: b64_json is not supported here, because the gateway fetches no pictures; the answer can have their addresses.",
}

// models tells the translator what is known about models.
func (f *fronts) models(s *requestState) *openai.Models {
	return &openai.Models{Resolve: s.teams.Resolve, Vision: f.vision, Sync: f.sync, Room: s.memory.Take}
}

// replace puts the service's request in place of the client's, which is read no more.
func (f *fronts) replace(s *requestState, request *openai.Request) error {
	s.route = f.natives[request.Path]
	s.body, s.creates, s.Endpoint = request.Body, s.route.creates, string(s.route.endpoint)
	s.encoded = request.Base64
	f.buffers.GiveBack(s.lent)
	s.lent = nil
	s.memory.keep(int64(cap(s.body)))
	s.header = f.headers.withoutOwn(s.header)
	if request.Stream {
		s.header[f.headers.sse] = on
	}
	if request.Async {
		s.header[f.headers.async] = on
	}
	return mayUse(s)
}

// refuseMember refuses what the translator refuses.
func refuseMember(w *reply, err error) error {
	refused, ok := errors.AsType[*openai.Refusal](err)
	if !ok {
		return err
	}
	w.front.BlameMember(refused.Param)
	row := refuseRules
	if refused.Param == "" { // the request as a whole
		row = refuseBody
	}
	return refuse(row).say("%s", refused.Message)
}
