package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"


	"route-planning-service/generated/api"
)

func with(token string) *api.ClientWithResponses {
	client, err := api.NewClientWithResponses(os.Getenv("ORIGIN"), api.WithRequestEditorFn(
		func(_ context.Context, request *http.Request) error {
			if token != "" {
				request.Header.Set("Authorization", "Bearer "+token)
			}
			return nil
		}))
	must(err)
	return client
}

func main() {
	line := readLine()
	ctx := context.Background()

	signIn := api.EmailSignIn{Email: os.Getenv("EMAIL"), Password: os.Getenv("PASSWORD")}
	signedIn, err := with("").AuthLogInWithResponse(ctx, signIn)
	must(err)
	session := with(signedIn.JSON200.AccessToken)
	minted, err := session.TokensMintWithResponse(ctx, api.TokenInput{Name: "oapi", Scope: "write"})
	must(err)
	script := with(minted.JSON201.Token)

	input := api.RouteInput{Name: "oapi", Waypoints: []api.Waypoint{{Coord: []float64{9.5, 47.1}}}, Geometry: &line}
	made, err := script.RoutesCreateWithResponse(ctx, nil, input)
	must(err)
	same("created", *made.JSON201.Geometry, line)
	limit := int32(1)
	listed, err := script.RoutesListWithResponse(ctx, &api.RoutesListParams{Limit: &limit})
	must(err)
	same("listed", *(*listed.JSON200)[0].Geometry, line)
	id := made.JSON201.Id
	ref := strconv.FormatInt(id, 10)
	name := "renamed"
	patched, err := script.RoutesUpdateWithResponse(ctx, ref, nil, api.RoutePatch{Name: &name})
	must(err)
	same("patched", *patched.JSON200.Geometry, line)
	routes := []int64{id}
	collected, err := script.CollectionsCreateWithResponse(ctx, nil, api.CollectionInput{Name: "all", RouteIds: &routes})
	must(err)
	same("collected", collected.JSON201.RouteIds, routes)
	geojson, err := script.FilesGeojsonWithResponse(ctx, ref, nil)
	must(err)
	// The generated client decodes application/json alone.
	var collection api.FeatureCollection
	must(json.Unmarshal(geojson.Body, &collection))
	downloaded, err := collection.Features[0].Geometry.AsLineString()
	must(err)
	same("downloaded", downloaded.Coordinates, line)
	gpx, err := script.FilesGpxWithResponse(ctx, ref, nil)
	must(err)
	same("GPX", strings.Contains(string(gpx.Body), "<gpx"), true)
	archive, err := session.AccountDataExportWithResponse(ctx)
	must(err)
	same("exported", string(archive.Body[:2]), "PK")
	fmt.Println("oapi-codegen: walked")
}
