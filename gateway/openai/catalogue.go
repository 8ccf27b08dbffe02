package openai

import "strconv"

// AppendModel appends one model: {"id","object":"model","created","owned_by"}. created is in seconds of Unix time.
func AppendModel(dst []byte, name string, created int64, owner string) []byte {
	dst = quoted(append(dst, `{"id":`...), name)
	dst = strconv.AppendInt(append(dst, `,"object":"model","created":`...), created, 10)
	dst = quoted(append(dst, `,"owned_by":`...), owner)
	return append(dst, '}')
}

// AppendModels appends the list of models, in the order of their names here.
func AppendModels(dst []byte, names []string, created int64, owner string) []byte {
	dst = append(dst, `{"object":"list","data":[`...)
	for _, name := range names {
		dst = AppendModel(next(dst), name, created, owner)
	}
	return append(dst, "]}"...)
}

// NoModel is the refusal of a model that the client may not see, or that does not exist.
func NoModel(name string) *Refusal {
	return &Refusal{Status: 404, Code: "model_not_found", Param: "model", Message: "The model " + string(quoted(nil, name)) + " does not exist or you do not have access to it."}
}
