// Texture and surface objects.
__global__ void textures(cudaTextureObject_t t, cudaSurfaceObject_t s, float4* out) {
    float x = threadIdx.x + 0.5f;
    out[0] = tex1D<float4>(t, x);
    out[1] = tex2D<float4>(t, x, x * 2);
    out[2].x = tex3D<float>(t, x, x, x);
    out[3] = tex2DLod<float4>(t, x, x, 1);
    int v = surf2Dread<int>(s, threadIdx.x * 4, 3);
    surf2Dwrite(v + 1, s, threadIdx.x * 4, 4);
    uint4 w; surf1Dread(&w, s, 16); out[4].y = (float)w.x;
}
