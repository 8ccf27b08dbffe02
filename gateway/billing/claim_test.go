package billing

import (
	"encoding/json"
	"reflect"
	"testing"

	"sluice/cache"
	"sluice/policy/limit"
	"sluice/policy/price"
	"sluice/telemetry/meter"
)

// earlierHold is a claim's hold as versions before this one read and write it.
type earlierHold struct {
	ID, Endpoint string
	Tag          string `json:",omitzero"`
	Day, Month   int
	Images       int64
	Price        int64
}

// A task costs by the price in its claim. A claim that an earlier version wrote has one number for a picture, and that version finds
// the number in a claim of this one.
func TestATaskCostsByThePriceInItsClaim(t *testing.T) {
	sized := price.Price{Pattern: "gen*", From: 20261101, Images: []price.Size{{UpToPixels: 1 << 20, Image: 140}, {Word: "2K", Image: 500}}}
	sized.Rates.Set(price.Image, 200)
	whole, err := json.Marshal(&sized)
	if err != nil {
		t.Fatal(err)
	}
	ours := cache.Hold{ID: "h", Endpoint: "image", Images: 3, Size: "2K", Price: 500, Whole: whole}
	for _, tt := range []struct {
		about, body string
		hold        cache.Hold
		want        int64
		held        int64
	}{
		{"the answer's size", `"usage":{"image_count":2,"size":"1024*1024"}`, ours, 2 * 140, 3 * 500},
		{"width and height, which the request called 2K", `"usage":{"image_count":2,"width":1024,"height":1025}`, ours, 2 * 500, 3 * 500},
		{"the request's size", `"usage":{"image_count":2}`, ours, 2 * 500, 3 * 500},
		{"an earlier version's", `"usage":{"image_count":2,"size":"1024*1024"}`, cache.Hold{ID: "h", Endpoint: "image", Images: 3, Price: 7},
			2 * 7, 3 * 7},
		{"no price", `"usage":{"image_count":2}`, cache.Hold{ID: "h", Endpoint: "image", Images: 3}, 0, 0},
		{"a later version's that cannot be read", `"usage":{"image_count":2}`,
			cache.Hold{ID: "h", Endpoint: "image", Images: 3, Price: 7, Whole: []byte(`[1]`)}, 2 * 7, 3 * 7},
		{"a forwarded path", `"usage":{"image_count":2}`, cache.Hold{ID: "h", Endpoint: "other", Images: 3, Price: 7}, 0, 0},
	} {
		reading := readingOf(`{"output":{"task_id":"t1","task_status":"SUCCEEDED"},` + tt.body + `}`)
		cost, _ := OfTask(&tt.hold, UsageOf(&reading, false, tt.hold.Size))
		held, _ := HeldByTask(&tt.hold)
		if cost.Total() != tt.want || held[limit.Spend] != tt.held {
			t.Errorf("%s: %d of %d held, want %d of %d", tt.about, cost.Total(), held[limit.Spend], tt.want, tt.held)
		}
	}

	text, err := json.Marshal(ours)
	var earlier earlierHold
	if err != nil || json.Unmarshal(text, &earlier) != nil || earlier != (earlierHold{"h", "image", "", 0, 0, 3, 500}) {
		t.Errorf("an earlier version reads %s as %+v, %v", text, earlier, err)
	}
	text, _ = json.Marshal(earlier)
	var again cache.Hold
	if err := json.Unmarshal(text, &again); err != nil {
		t.Fatal(err)
	}
	if held, _ := HeldByTask(&again); held[limit.Spend] != 1500 {
		t.Errorf("%s holds %v", text, held)
	}

	pricing, kept := Pricing{Price: &sized, Size: "2K"}, cache.Hold{ID: "h", Endpoint: "image"}
	if pricing.Keep(&kept, &limit.Amounts{limit.Images: 3}); !reflect.DeepEqual(kept, ours) {
		t.Errorf("kept as %+v, want %+v", kept, ours)
	}
}

// A task of a path that may make anything holds tokens beside pictures. A claim of an earlier version has only the pictures.
func TestATaskThatMayMakeAnythingHoldsTokensToo(t *testing.T) {
	pricing, all := Pricing{Price: thePrice()}, limit.Amounts{1, 2050, 2, 4098}
	kept := cache.Hold{ID: "h", Endpoint: "other", Governed: true}
	pricing.Keep(&kept, &all)
	text, err := json.Marshal(kept)
	var again cache.Hold
	if err != nil || json.Unmarshal(text, &again) != nil {
		t.Fatalf("%s %v", text, err)
	}
	if held, bill := HeldByTask(&again); held != all || bill != nil {
		t.Errorf("%s holds %v, %v, want %v of unknown kinds", text, held, bill, all)
	}
	again.Tokens, again.Spend = 0, 0
	if held, bill := HeldByTask(&again); held != (limit.Amounts{1, 0, 2, 200}) || bill == nil || bill[price.Image].Quantity != 2 {
		t.Errorf("an earlier version's holds %v, %v", held, bill)
	}
}

func readingOf(answer string) meter.Reading {
	reads := meter.New("application/json", "")
	_, _ = reads.Write([]byte(answer)) // it never fails
	return reads.End()
}
