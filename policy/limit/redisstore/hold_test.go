package redisstore

import (
	"fmt"

	"sluice/policy"
	"sluice/policy/limit"
	"sluice/policy/teams"
)

func hold(id string, team *teams.Team, amounts limit.Amounts) limit.Hold {
	return limit.Hold{ID: id, Team: team, Model: "llm-max", Endpoint: policy.EndpointText, Amounts: amounts}
}

func id(n int) string { return fmt.Sprintf("h%d", n) }
