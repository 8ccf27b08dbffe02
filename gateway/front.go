package gateway

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"time"

	"sluice/cache"
	"sluice/gateway/conversation"
	"sluice/gateway/dialect/chat"
	"sluice/gateway/dialect/messages"
	"sluice/gateway/dialect/responses"
	"sluice/gateway/openai"
	"sluice/gateway/refusal"
	"sluice/gateway/upstream"
	"sluice/gateway/wire"
	"sluice/policy"
	"sluice/policy/label"
	"sluice/policy/price"
)

// frontName is the log's word for requests of a client's interface that have no dialect of their own, such as the list of models.
const frontName = "openai"

// fronts serves OpenAI's interface. One stage puts the service's request in place of the client's; below the reply, a
// [dialect.Writer] turns the answer into OpenAI's. Between the two runs the chain that every request runs through.
type fronts struct {
	config  *Config
	headers *headers
	natives map[string]*route // the service's routes, by path
	created int64             // creation time of listed models, in Unix seconds: when this process began
	polls   *polls
	buffers *wire.Buffers
	fetcher *upstream.Fetcher // of pictures, for clients that want the pictures and not their addresses

	vision, sync, thinks func(model string) bool // what [conversation.Models] asks for
}

func newFronts(config *Config, headers *headers, buffers *wire.Buffers, polls *polls, natives map[string]*route) *fronts {
	families := &config.Families
	return &fronts{
		config: config, headers: headers, natives: natives, created: polls.deps.Now().Unix(), polls: polls, buffers: buffers,
		fetcher: upstream.NewFetcher(upstream.FetchConfig{Hosts: config.ResultHosts, Networks: config.ResultNetworks, Tunnel: config.Tunnel}),
		vision:  func(model string) bool { return policy.MatchAny(families.Vision, model) },
		sync:    func(model string) bool { return policy.MatchAny(families.SyncImage, model) },
		thinks:  func(model string) bool { return policy.MatchAny(families.Thinking, model) },
	}
}

// on is the value of a contract header that is set.
var on = []string{"enable"}

// translate reads the body and puts the service's request in place of the client's. It runs before every stage that depends on
// the endpoint or the kind.
func (f *fronts) translate(kind frontRequest) stage {
	return func(next handler) handler {
		return func(w *reply, r *http.Request, s *requestState) error {
			w.front.Params = kind.params
			if err := readBody(w, r, s, f.buffers); err != nil {
				return err
			}
			known := &conversation.Models{
				Resolve: s.teams.Resolve, Vision: f.vision, Sync: f.sync, Thinks: f.thinks, Room: s.share.Take,
				MaxOutput: s.teams.MaxOutput, Embeddings: f.config.EmbeddingsPath,
			}
			request, err := kind.read(r, s, known)
			if errors.Is(err, conversation.ErrNoRoom) {
				return refuseUnmade(&s.share)
			}
			if err == nil && request.Base64 && !f.fetcher.Allowed() {
				err = openai.OnlyAddresses()
			}
			if err != nil {
				return refuseMember(w, err)
			}
			if f.unknown(s, request.Model) {
				return refuseUnknown(w, request.Model)
			}
			if err := f.replace(s, request); err != nil {
				return err
			}
			if w.front.Memory = &s.share; request.Dialect != nil {
				w.front.Chat(request.Dialect, conversation.Head{ID: s.ID, Created: s.start.Unix(), Model: request.Model}, request.Stream)
			}
			w.front.Params, w.front.Whole = request.Places(kind.params), request.Whole
			for _, warning := range request.Warnings {
				w.Header().Add("Sluice-Warning", warning)
			}
			return next(w, r, s)
		}
	}
}

// replace puts the service's request in place of the client's, whose body is not needed any more.
func (f *fronts) replace(s *requestState, request *conversation.Request) error {
	s.route = f.natives[request.Path]
	s.body, s.creates, s.Endpoint = request.Body, s.route.creates, string(s.route.endpoint)
	s.encoded = request.Base64
	f.buffers.GiveBack(s.lent)
	s.lent = nil
	s.share.Keep(int64(cap(s.body)))
	s.header = f.headers.withoutForm(s.header)
	if request.Stream {
		s.header[f.headers.sse] = on
	}
	if request.Async {
		s.header[f.headers.async] = on
	}
	return mayUse(s.route, s.team)
}

// refuseMember refuses what the translator refuses.
func refuseMember(w *reply, err error) error {
	refused, ok := errors.AsType[*conversation.Refusal](err)
	if !ok {
		return err
	}
	w.front.BlameMember(refused.Param)
	row := refusal.Rules
	if refused.Param == "" { // the request as a whole
		row = refusal.Body
	}
	return refusal.New(row).Say("%s", refused.Message)
}

// listModels lists the models that the teams file names and the team may ask for.
func (f *fronts) listModels(w *reply, r *http.Request, s *requestState) error {
	if messages.Speaks(r.URL.Path, r.Header) {
		return writeOwn(w, messages.AppendModels(nil, namesFor(s), f.created))
	}
	return writeOwn(w, openai.AppendModels(nil, namesFor(s), f.created, f.config.Provider))
}

// writeOwn writes an answer that is in the client's form already.
func writeOwn(w *reply, body []byte) error {
	w.front.Pass()
	return answer{status: http.StatusOK, header: jsonHeader(), body: body}.write(w)
}

// showModel describes one of these models.
func (f *fronts) showModel(w *reply, r *http.Request, s *requestState) error {
	if !slices.Contains(namesFor(s), s.rest) {
		return refuseUnknown(w, s.rest)
	}
	if messages.Speaks(r.URL.Path, r.Header) {
		return writeOwn(w, messages.AppendModel(nil, s.rest, f.created))
	}
	return writeOwn(w, openai.AppendModel(nil, s.rest, f.created, f.config.Provider))
}

// refuseUnknown refuses a model that is unknown, or that the client may not know of.
func refuseUnknown(w *reply, name string) error {
	unknown := openai.NoModel(name)
	w.front.BlameMember(unknown.Param)
	return refusal.New(refusal.NoModel).Say("%s", unknown.Message)
}

// unknown reports whether a model is refused as unknown: the teams file does not name it, and the operator, the team or the key
// allows only named models.
func (f *fronts) unknown(s *requestState, name string) bool {
	model := s.teams.Resolve(name)
	if model != name || s.teams.Label(model) != label.Other {
		return false
	}
	return f.config.KnownModels || !s.team.MayUseModel(model) || !s.limits.MayUseModel(model)
}

// frontRequest is a kind of request of OpenAI's interface.
type frontRequest struct {
	read   func(r *http.Request, s *requestState, models *conversation.Models) (*conversation.Request, error)
	params func(field string) string // the client's name of a field of the service's request
	// of the content, without keeping it; nil: repetitions are not recognized
	digest func(contentType string, body io.Reader) ([sha256.Size]byte, error)
}

// namesFor lists the models that the request's team and key may use.
func namesFor(s *requestState) []string {
	names := s.teams.Names(s.team, price.DayOf(s.Time))
	return slices.DeleteFunc(names, func(name string) bool { return !s.limits.MayUseModel(s.teams.Resolve(name)) })
}

var (
	frontChat      = frontRequest{reading(chat.Read), chat.Param, nil}
	frontResponses = frontRequest{reading(responses.Read), responses.Param, nil}
	frontMessages  = frontRequest{reading(messages.Read), messages.Param, nil}
	frontCount     = frontRequest{reading(messages.ReadCount), messages.Param, nil}
	frontEmbed     = frontRequest{reading(openai.Embeddings), openai.EmbeddingsParam, nil}
	frontMake      = frontRequest{readGeneration, openai.ImageParam, openai.DigestBody}
	frontEdit      = frontRequest{readEdit, openai.ImageParam, openai.DigestForm}
)

// reading reads the body in a dialect.
func reading(read func([]byte, *conversation.Models) (*conversation.Request, error)) func(*http.Request, *requestState,
	*conversation.Models) (*conversation.Request, error) {
	return func(_ *http.Request, s *requestState, models *conversation.Models) (*conversation.Request, error) {
		return read(s.body, models)
	}
}

// count answers how many tokens a conversation has, by the estimate that a hold uses. It costs nothing.
func (n *inspection) count(w *reply, _ *http.Request, s *requestState) error {
	if err := n.judge(w, s); err != nil {
		return err
	}
	w.Header().Add("Sluice-Warning", "estimated")
	return writeOwn(w, messages.AppendCount(nil, s.inputTokens))
}

func readGeneration(r *http.Request, s *requestState, models *conversation.Models) (*conversation.Request, error) {
	s.repeats = newRepetition(r, s, sha256.Sum256(s.body))
	return openai.Generation(s.body, models)
}

func readEdit(r *http.Request, s *requestState, models *conversation.Models) (*conversation.Request, error) {
	parts, err := openai.ReadForm(wire.First(r.Header["Content-Type"]), s.body)
	if err != nil {
		return nil, err
	}
	s.repeats = newRepetition(r, s, openai.Content(parts))
	return openai.Edit(parts, models)
}

func newRepetition(r *http.Request, s *requestState, body [sha256.Size]byte) *repetition {
	count, err := strconv.ParseUint(wire.First(r.Header[retryCount]), 10, 31)
	attempt := cache.Attempt{Number: int(count), Counts: err == nil}
	return &repetition{path: s.route.path, body: body, fingerprint: openai.Fingerprint(s.Key, s.route.path, body), attempt: attempt}
}

// noteUnheld is the stage that notes a first attempt at pictures that is refused for lack of memory, so that its repetition makes
// its own task. Otherwise it would get the task of an equal request, or be taken for one whose first attempt is late. The body is
// read for this, and not kept.
func (f *fronts) noteUnheld(kind frontRequest, t *throttle, noteRefused func(ctx context.Context, s *requestState)) stage {
	return func(next handler) handler {
		return func(w *reply, r *http.Request, s *requestState) error {
			err := s.unheld
			if err == nil {
				err = next(w, r, s)
			}
			if !isOutOfMemory(err) || !t.notes(r, s) {
				return err
			}
			select {
			case t.unheld <- struct{}{}:
				defer func() { <-t.unheld }()
			default:
				if t.reached != nil {
					t.reached()
				}
				return err
			}
			body := newUnheldBody(w, r, s, f.buffers)
			digest, lost := kind.digest(wire.First(r.Header["Content-Type"]), body)
			s.waited += body.now().Sub(body.began)
			if lost == nil {
				s.repeats = newRepetition(r, s, digest)
				t.noted.Add(s.Key)
				noteRefused(context.WithoutCancel(r.Context()), s)
			}
			return err
		}
	}
}

// unheldBody is a body for which there is no memory: first what had arrived, whose buffer is given back once it is read, then the rest.
type unheldBody struct {
	upload
	have []byte
	size int
}

func newUnheldBody(w *reply, r *http.Request, s *requestState, buffers *wire.Buffers) *unheldBody {
	u := upload{clientBounds: w.bounds, reply: w, state: s, from: r.Body, buffers: buffers, began: w.bounds.now()}
	return &unheldBody{upload: u, have: s.body, size: len(s.body)}
}

// Read implements [io.Reader].
func (b *unheldBody) Read(p []byte) (int, error) {
	s := b.state
	if len(b.have) > 0 {
		n := copy(p, b.have)
		b.have = b.have[n:]
		return n, nil
	}
	b.buffers.GiveBack(s.lent)
	s.lent, s.body = nil, nil
	s.share.Keep(0)
	if s.bodyEnded {
		return 0, io.EOF
	}
	n, err := b.readSome(p, b.size)
	b.size += n
	s.BytesIn = int64(b.size)
	switch {
	case int64(b.size) > b.maxBody:
		return n, refuseTooLarge(b.maxBody)
	case err == io.EOF:
		s.bodyEnded = true
		_ = b.reply.control.SetReadDeadline(time.Time{}) // as for every body that was read
	}
	return n, err
}
