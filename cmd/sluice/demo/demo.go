// Package demo has what sluice demo shows: two teams with keys and prices, the lines to paste, a varied load, and a made-up month of use.
//
// It opens nothing: the command starts the gateway and the simulator, and hands in where they keep what they know.
package demo

import (
	"crypto/rand"
	"fmt"

	"sluice/gateway"
	"sluice/policy/teams"
)

// house is the part of the demonstration's teams file before its teams.
const house = `currency: CNY
catalogue: [llm-plus, llm-max, llm-image-2.0, gen2.5-t2i, gen2.6-image]
prices:
  - {model: "gen*", image: 0.20, images: [{up_to_pixels: 1048576, image: 0.14}]}
  - {model: "llm-image*", image: 0.25, images: [{up_to_pixels: 1048576, image: 0.20}]}
  - {model: "llm-max", input_per_million: 2.4, output_per_million: 9.6, cached_per_million: 0.48, explicit_cached_per_million: 0.24,
     above: [{input: 32000, input_per_million: 4, output_per_million: 16, cached_per_million: 0.8}]}
  - {model: "*", input_per_million: 0.8, output_per_million: 2.0, thinking_per_million: 8, cached_per_million: 0.16}
teams:
`

// Teams are the teams of the demonstration, with new keys.
type Teams struct {
	File        *teams.File
	Search, Ads gateway.Secret // keys
}

// MintTeams makes the teams file with new keys.
func MintTeams() (Teams, error) {
	search, err := teams.MintKey(rand.Reader)
	if err != nil {
		return Teams{}, err
	}
	ads, err := teams.MintKey(rand.Reader)
	if err != nil {
		return Teams{}, err
	}
	file, err := teams.Parse([]byte(house +
		"  - id: search\n    description: Search in the shop\n    quotas: {images: {day: 50000}, spend: {month: 200000}}\n    keys:\n" + search.Lines() +
		"  - id: ads\n    description: Texts and pictures for ads\n    rates: {requests: {per: 1m, limit: 600}}\n    models: [\"llm-*\"]\n    keys:\n" + ads.Lines()))
	if err != nil {
		return Teams{}, fmt.Errorf("the demonstration's teams: %w", err)
	}
	return Teams{file, gateway.Secret(search.Reveal()), gateway.Secret(ads.Reveal())}, nil
}
