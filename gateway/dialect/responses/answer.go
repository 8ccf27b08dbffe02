package responses

import (
	"strconv"

	"sluice/gateway/conversation"
	"sluice/gateway/openai"
	"sluice/gateway/rawjson"
)

// Answer writes the answer to one request, as a response or as the events of its stream. It is a [conversation.Dialect].
type Answer struct {
	output
	echo     []byte // what the answer says of the request, as members
	head     conversation.Head
	sequence int    // of the next event
	finish   []byte // the service's word, a raw string
}

// Begin implements [conversation.Dialect].
func (a *Answer) Begin(head conversation.Head) {
	a.head, a.id, a.items, a.sequence, a.finish = head, head.ID, a.items[:0], 0, a.finish[:0]
}

// Whole implements [conversation.Dialect].
func (a *Answer) Whole(dst []byte, answer *conversation.Answer) []byte {
	first := &answer.Choices[0] // more are not asked for
	a.take(first)
	a.finish = append(a.finish[:0], first.Finish...)
	usage := answer.Usage()
	return a.appendResponse(dst, a.status(), nil, &usage)
}

// status is the response's status, by the service's word for how it ended.
func (a *Answer) status() string {
	if a.reason() != "" {
		return incomplete
	}
	return completed
}

// reason is why the response is incomplete; empty: it is complete.
func (a *Answer) reason() string {
	switch {
	case rawjson.IsWord(a.finish, "length"):
		return "max_output_tokens"
	case rawjson.IsWord(a.finish, "content_filter"):
		return "content_filter"
	}
	return ""
}

// appendResponse appends the response, with its output so far. refused is why it failed; nil: it did not. usage is nil while it is
// not known.
func (a *Answer) appendResponse(dst []byte, status string, refused *conversation.Refusal, usage *conversation.Usage) []byte {
	dst = append(append(append(dst, `{"id":"resp_`...), a.head.ID...), `","object":"response","created_at":`...)
	dst = strconv.AppendInt(dst, a.head.Created, 10)
	dst = append(append(append(dst, `,"status":"`...), status...), `","background":false,"error":`...)
	dst = appendFailure(dst, refused)
	dst = append(dst, `,"incomplete_details":`...)
	if status == incomplete {
		dst = append(append(append(dst, `{"reason":"`...), a.reason()...), `"}`...)
	} else {
		dst = append(dst, "null"...)
	}
	dst = rawjson.Quote(append(dst, `,"instructions":null,"metadata":{},"model":`...), a.head.Model)
	dst = append(dst, `,"output":[`...)
	if status != inProgress {
		for i := range a.items {
			dst = a.appendItem(rawjson.Next(dst), &a.items[i], a.itemStatus(&a.items[i], status))
		}
	}
	dst = append(append(dst, `],"previous_response_id":null,"store":false,"tools":[],"truncation":"disabled"`...), a.echo...)
	return append(appendUsage(append(dst, `,"usage":`...), usage), '}')
}

// itemStatus is an item's status: the last item of a response that is not complete is incomplete.
func (a *Answer) itemStatus(it *item, response string) string {
	if response != completed && it.number == len(a.items)-1 {
		return incomplete
	}
	return completed
}

// appendFailure appends the error of a response. OpenAI's clients know few codes; the message says the rest.
func appendFailure(dst []byte, refused *conversation.Refusal) []byte {
	if refused == nil {
		return append(dst, "null"...)
	}
	code := openai.ErrorCode(refused.Code)
	switch {
	case code == "insufficient_quota":
	case refused.Status == 429:
		code = "rate_limit_exceeded"
	case refused.Status >= 500 || code == "":
		code = "server_error"
	}
	dst = rawjson.Quote(append(dst, `{"code":`...), code)
	return append(rawjson.Quote(append(dst, `,"message":`...), refused.Message), '}')
}

func appendUsage(dst []byte, u *conversation.Usage) []byte {
	if u == nil || !u.Known() {
		return append(dst, "null"...)
	}
	return u.AppendTo(dst, "input_tokens", "output_tokens", true) // the libraries need the details
}
