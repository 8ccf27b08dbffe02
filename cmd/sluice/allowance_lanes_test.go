package main

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"time"

	"sluice/gateway/simulator"
)

// lane is a team and its requests.
type lane struct {
	name    string
	limits  string // lines of the teams file
	workers int
	pause   time.Duration // of a worker, after each request
	limit   int64
	unit    string // of the limit; empty: open tasks
	request raceRequest
	streams bool // every other worker of texts asks for a stream
	// images that each value of its tag may make: its workers have the keys of partKeys, and ask for partTags; 0: no tag, one key
	parts int64
}

// raceRequest is a request, and the amount that the service counts for it.
type raceRequest struct {
	path, body, endpoint string
	creates              bool
	images               int64
}

var (
	oneText  = raceRequest{path: textURL, body: demoText, endpoint: simulator.EndpointText}
	oneImage = raceRequest{path: "/api/v1" + multimodalPath, body: demoPicture, endpoint: simulator.EndpointMultimodal, images: 1}
	oneTask  = raceRequest{path: imageURL, body: fmt.Sprintf(imageTask, 1), endpoint: simulator.EndpointImage, creates: true, images: 1}
	twoTask  = raceRequest{path: imageURL, body: fmt.Sprintf(imageTask, 2), endpoint: simulator.EndpointImage, creates: true, images: 2}
	oldTask  = raceRequest{
		path: "/api/v1/services/aigc/text2image/image-synthesis", body: `{"model":"gen2.5-t2i","input":{"prompt":"A lighthouse"},` +
			`"parameters":{"n":1}}`,
		endpoint: simulator.EndpointSynthesis, creates: true, images: 1,
	}
)

// theLanes are the lanes of docs/performance.md: 1,000 requests, 600 images, and tasks, with 64 workers in total. Those of the last one
// count in the quotas of the house, their team, their key and their tag's value at once.
var theLanes = []lane{
	{name: "requests", limits: "quotas: {requests: {month: 1000}}", workers: 34, limit: 1000, unit: "requests", request: oneText},
	{name: "images", limits: "quotas: {images: {month: 600}}", workers: 20, limit: 600, unit: "images", request: oneImage},
	{name: "tasks", limits: "open_tasks: 300", workers: 10, limit: 300, request: oneTask},
	{name: "parts", limits: partLimits(150, 80), workers: 18, limit: 150, unit: "images", request: oldTask, parts: 80},
}

// houseLimit is the house's limit of images in a race of lanes with parts: a little less than all teams' limits together.
const houseLimit = 1030

const raceHeats = 64 // the most of one race, except a soak

// raceTeams is the teams file of a race. Without a house keys have no limits, either: so the version before both reads it.
func raceTeams(lanes []lane, house int64) string {
	var doc strings.Builder
	doc.WriteString("currency: CNY\nprices: [{model: \"*\", image: 0.20}]\n")
	if house > 0 {
		fmt.Fprintf(&doc, "house: {quotas: {images: {month: %d}}}\n", house)
	}
	doc.WriteString("teams:\n")
	for heat := range raceHeats {
		for _, l := range lanes {
			fmt.Fprintf(&doc, "  - id: %s\n    %s\n    keys:\n", l.team(heat), l.limits)
			for _, k := range l.keys() {
				if house == 0 {
					k.limits = ""
				}
				fmt.Fprintf(&doc, "      - {id: %s, sha256: %x%s}\n", k.id(heat), sha256.Sum256([]byte(k.secret(heat))), k.limits)
			}
		}
	}
	return doc.String()
}

func (l *lane) team(heat int) string { return fmt.Sprintf("%s-%d", l.name, heat) }
