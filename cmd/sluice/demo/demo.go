// Package demo holds the content of sluice demo: two teams, prices, a house, lines to paste, a varied load and a made-up month of use.
//
// It opens nothing: the command starts the gateway and the simulator, and passes their stores.
package demo

import (
	"crypto/rand"
	_ "embed" // of the prices
	"fmt"

	"sluice/gateway/upstream"
	"sluice/policy/teams"
)

// prices are those of the simulator, so that its bill and the ledger agree.
//
//go:embed prices.yaml
var prices string

// picturesKept are the defaults that make the demonstration store pictures.
const picturesKept = "defaults: {mirror: {keep: 24h}"

// head is the part of the demonstration's teams file before its teams. The made-up past fills about three quarters of the house's quotas.
var head = prices + "catalogue: [llm-plus, llm-max, llm-image-2.0, gen2.5-t2i, gen2.6-image]\n" +
	"house: {quotas: {images: {day: 60000}, spend: {day: 10000, month: 250000}}, alert: [50, 80, 95]}\n"

// adsLimits are the limits of team ads's key.
const adsLimits = "        quotas: {images: {day: 16000}}\n        rates: {requests: {per: 1m, limit: 300}}\n        concurrent: 16\n"

// Teams are the teams of the demonstration, with new keys.
type Teams struct {
	File        *teams.File
	Search, Ads upstream.Secret // keys
}

// MintTeams makes the teams file with new keys.
func MintTeams(hook Hook) (Teams, error) {
	search, err := teams.MintKey(rand.Reader)
	if err != nil {
		return Teams{}, err
	}
	ads, err := teams.MintKey(rand.Reader)
	if err != nil {
		return Teams{}, err
	}
	file, err := teams.Parse([]byte(head + hook.defaults() + "teams:\n" +
		"  - id: search\n    description: Search in the shop\n    quotas: {images: {day: 50000}, spend: {month: 200000}}\n    keys:\n" +
		search.Lines() +
		"  - id: ads\n    description: Texts and pictures for ads\n    rates: {requests: {per: 1m, limit: 600}}\n    models: " +
		"[\"llm-*\"]\n    keys:\n" + ads.Lines() + adsLimits))
	if err != nil {
		return Teams{}, fmt.Errorf("the demonstration's teams: %w", err)
	}
	return Teams{file, upstream.Secret(search.Reveal()), upstream.Secret(ads.Reveal())}, nil
}
