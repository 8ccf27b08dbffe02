package simulator

import (
	"net/http"
	"strings"

	"sluice/gateway/simulator/gallery"
)

// Endpoint words, as in Received.Endpoint, Fault.On and Tally.
const (
	EndpointText       = "text"
	EndpointMultimodal = "multimodal"
	EndpointImage      = "image"
	EndpointSynthesis  = "synthesis" // the older image paths
	EndpointTask       = "task"
	EndpointCancel     = "cancel"
	EndpointList       = "list"
	EndpointUploads    = "uploads"
	EndpointPicture    = "picture"
	EndpointOther      = "other" // no such path
)

// route is the endpoint of a path.
type route struct {
	endpoint string
	method   string
	taskID   string
}

// prefix is the version prefix of every path except the pictures'.
const prefix = "/api/v1/"

// generations are the paths that take a JSON body.
var generations = map[string]string{
	"services/aigc/text-generation/generation":       EndpointText,
	"services/aigc/multimodal-generation/generation": EndpointMultimodal,
	"services/aigc/image-generation/generation":      EndpointImage,
	"services/aigc/text2image/image-synthesis":       EndpointSynthesis,
	"services/aigc/image2image/image-synthesis":      EndpointSynthesis,
}

// find returns the route of an escaped path. Only task paths may end in a slash.
func find(path string) route {
	if strings.HasPrefix(path, gallery.Path) {
		return route{endpoint: EndpointPicture, method: http.MethodGet}
	}
	rest, ok := strings.CutPrefix(path, prefix)
	if !ok {
		return route{endpoint: EndpointOther}
	}
	if endpoint, ok := generations[rest]; ok {
		return route{endpoint: endpoint, method: http.MethodPost}
	}
	if rest == "uploads" {
		return route{endpoint: EndpointUploads, method: http.MethodGet}
	}
	return findTask(strings.Split(strings.TrimSuffix(rest, "/"), "/"))
}

func findTask(parts []string) route {
	switch {
	case parts[0] != "tasks":
	case len(parts) == 1:
		return route{endpoint: EndpointList, method: http.MethodGet}
	case len(parts) == 2 && parts[1] != "":
		return route{endpoint: EndpointTask, method: http.MethodGet, taskID: parts[1]}
	case len(parts) == 3 && parts[1] != "" && parts[2] == "cancel":
		return route{endpoint: EndpointCancel, method: http.MethodPost, taskID: parts[1]}
	}
	return route{endpoint: EndpointOther}
}
