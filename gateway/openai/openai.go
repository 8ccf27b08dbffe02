// Package openai is OpenAI's interface beside chats: it translates requests for images into requests of the service, and the
// service's answers, tasks and errors into OpenAI's. docs/openai.md lists the choices that it makes where the two interfaces
// differ.
//
// Everything but its reader of forms is pure: no HTTP, no clock, no state. Untranslated values pass unchanged, so numbers keep
// their digits. Requests are read strictly, because Sluice judges them and teams pay for them, answers leniently, because they are
// paid for already.
package openai

import (
	"strconv"

	"sluice/gateway/conversation"
	"sluice/gateway/rawjson"
)

// AppendModel appends one model: {"id","object":"model","created","owned_by"}. created is in seconds of Unix time.
func AppendModel(dst []byte, name string, created int64, owner string) []byte {
	dst = rawjson.Quote(append(dst, `{"id":`...), name)
	dst = strconv.AppendInt(append(dst, `,"object":"model","created":`...), created, 10)
	dst = rawjson.Quote(append(dst, `,"owned_by":`...), owner)
	return append(dst, '}')
}

// AppendModels appends the list of models, in the order of their names here.
func AppendModels(dst []byte, names []string, created int64, owner string) []byte {
	dst = append(dst, `{"object":"list","data":[`...)
	for _, name := range names {
		dst = AppendModel(rawjson.Next(dst), name, created, owner)
	}
	return append(dst, "]}"...)
}

// NoModel is the refusal of a model that does not exist, or that the client may not know of.
func NoModel(name string) *conversation.Refusal {
	return &conversation.Refusal{
		Status: 404, Code: "model_not_found", Param: "model",
		Message: "The model " + string(rawjson.Quote(nil, conversation.Brief(name))) + " does not exist or you do not have access to it.",
	}
}
