package policy

// Endpoint is the name of a group of paths in the teams file and the log. A team may be limited to some of them.
type Endpoint string

// The endpoints, by path. The older families of image tasks are EndpointImage; extra forwarded paths are EndpointOther.
const (
	EndpointText       Endpoint = "text"       // services/aigc/text-generation/generation
	EndpointMultimodal Endpoint = "multimodal" // services/aigc/multimodal-generation/generation
	EndpointImage      Endpoint = "image"      // the paths that create asynchronous image tasks
	EndpointTasks      Endpoint = "tasks"      // tasks, tasks/{id} and tasks/{id}/cancel
	EndpointOther      Endpoint = "other"      // SLUICE_FORWARD_PATHS, only for teams that name it
)

// Endpoints lists every endpoint in the order in which reports name them.
var Endpoints = []Endpoint{EndpointText, EndpointMultimodal, EndpointImage, EndpointTasks, EndpointOther}

// Kind is the kind of work that a request asks for. The multimodal path has three kinds, told apart by model and
// parameters; every other path has one.
type Kind string

// The kinds of request.
const (
	KindText        Kind = "text"        // text generation
	KindChat        Kind = "chat"        // multimodal chat: text comes out
	KindImage       Kind = "image"       // synchronous image: the picture's address is in the answer
	KindInterleaved Kind = "interleaved" // a stream of text and images from the multimodal path
	KindTask        Kind = "task"        // an asynchronous image task
	KindOther       Kind = "other"       // an extra forwarded path, whose body is not read
)
